"""An independent oracle for the course tool: plain loops, standard library only.

Everything here is written to be read beside the rules, not to be fast. It takes the four input
files as bytes and gives the output file as bytes, and it shares no code with the package under
test, so that a mistake made there is not made here a second time.
"""

from collections.abc import Sequence

WHITE_SPACE = b" \t\n\v\f\r"
BLANKS = b" \t"
LARGEST_REPORTED_DISTANCE = 3
LARGEST_BITS = 128


def pages(data: bytes) -> list[tuple[bytes, bytes]]:
    """Split an article or sample file into its pages.

    Args:
        data: The whole file; line ends may be LF, CRLF or CR.

    Returns:
        One ``(id, body)`` per page in file order. The id has no trailing blanks; the body is what
        follows the id, its line end included. Chunks of white space alone are left out; two pages
        with one id are two entries.
    """
    result: list[tuple[bytes, bytes]] = []
    for chunk in data.split(b"\f"):
        text = chunk.lstrip(WHITE_SPACE)
        if not text:
            continue
        end = 0
        while end < len(text) and text[end : end + 1] not in (b"\r", b"\n"):
            end += 1
        result.append((text[:end].rstrip(BLANKS), text[end:]))
    return result


def words(body: bytes) -> list[bytes]:
    """List the words of a body in order, repetitions included.

    Args:
        body: Any bytes.

    Returns:
        The maximal runs of ASCII letters, lower-cased. Every other byte separates.
    """
    result: list[bytes] = []
    word = b""
    for code in body:
        letter = bytes([code]).lower()
        if b"a" <= letter <= b"z":
            word += letter
        elif word:
            result.append(word)
            word = b""
    if word:
        result.append(word)
    return result


def stop_words(data: bytes) -> set[bytes]:
    """Read a stop word file: entries separated by white space, lower-cased.

    Args:
        data: The whole file.

    Returns:
        The entries as they stand, lower-cased; one that is not made of letters alone stops nothing.
    """
    return set(data.lower().split())


def hash_rows(data: bytes, features: int, bits: int) -> list[bytes]:
    """Read a hash table file and check all of it.

    Args:
        data: The whole file, one row of ``0`` and ``1`` a line; blank lines at its end are allowed.
        features: How many rows are needed, N.
        bits: How many characters of each row are needed, M.

    Returns:
        The first ``bits`` characters of each of the first ``features`` rows.

    Raises:
        ValueError: N or M is out of range, a row is too short, or a row holds another character.
    """
    if not 1 <= bits <= LARGEST_BITS:
        raise ValueError(f"M is {bits}; it must lie between 1 and {LARGEST_BITS}")
    lines = data.rstrip(WHITE_SPACE).splitlines()
    for number, line in enumerate(lines, start=1):
        if line.strip(b"01"):
            raise ValueError(f"hash table line {number}: a character other than 0 and 1")
        if len(line) < bits:
            raise ValueError(f"hash table line {number}: {len(line)} characters, M is {bits}")
    if not 1 <= features <= len(lines):
        raise ValueError(f"N is {features}; the hash table ends at line {len(lines)}")
    return [line[:bits] for line in lines[:features]]


def feature_vector(bodies: Sequence[bytes], stop: set[bytes], features: int) -> list[bytes]:
    """Choose the feature words of a corpus.

    Args:
        bodies: The bodies of all pages of the article file, never those of the sample file.
        stop: The stop words.
        features: The largest number of features wanted, N.

    Returns:
        At most N words, by count descending, ties by bytes ascending; fewer if no more exist. The
        position of a word is its rank.
    """
    counts: dict[bytes, int] = {}
    for body in bodies:
        for word in words(body):
            if word not in stop:
                counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return ranked[:features]


def fingerprint(body: bytes, vector: Sequence[bytes], rows: Sequence[bytes], bits: int) -> int:
    """Compute the fingerprint of one body.

    Args:
        body: The body of a page.
        vector: The feature words in the order of their ranks.
        rows: The hash table; the feature of rank i has row i.
        bits: Fingerprint length M.

    Returns:
        An M-bit integer whose most significant bit belongs to the first character of a row; 0 for
        a body without features.
    """
    rank_of = {word: rank for rank, word in enumerate(vector)}
    count_of: dict[int, int] = {}
    for word in words(body):
        if word in rank_of:
            rank = rank_of[word]
            count_of[rank] = count_of.get(rank, 0) + 1
    result = 0
    for bit in range(bits):
        total = 0
        for rank, count in count_of.items():
            total += count if rows[rank][bit : bit + 1] == b"1" else -count
        result = 2 * result + (1 if total > 0 else 0)
    return result


def distance(left: int, right: int) -> int:
    """Count the bits in which two fingerprints differ."""
    return (left ^ right).bit_count()


def within(fingerprints: Sequence[int], query: int, radius: int) -> list[tuple[int, int]]:
    """Find every fingerprint within a radius, by looking at each.

    Args:
        fingerprints: The stored fingerprints.
        query: The fingerprint to look for.
        radius: Largest Hamming distance to find, in bits, inclusive.

    Returns:
        ``(position, distance)`` pairs by distance, then position.
    """
    found: list[tuple[int, int]] = []
    for position, stored in enumerate(fingerprints):
        if distance(stored, query) <= radius:
            found.append((position, distance(stored, query)))
    return sorted(found, key=lambda match: (match[1], match[0]))


def sample_block(
    sample_id: bytes, matches: Sequence[tuple[int, int]], article_ids: Sequence[bytes]
) -> bytes:
    """Write the lines of one sample.

    Args:
        sample_id: The id of the sample.
        matches: ``(position, distance)`` pairs by distance, then position.
        article_ids: The ids of the article file's pages, by position.

    Returns:
        The id line and one line for each distance that has a match, each ended by LF.
    """
    block = sample_id + b"\n"
    for wanted in range(LARGEST_REPORTED_DISTANCE + 1):
        ids = [article_ids[position] for position, found in matches if found == wanted]
        if ids:
            block += b"%d:" % wanted
            for article_id in ids:
                block += article_id + b" "
            block += b"\n"
    return block


def simtool(
    article: bytes, sample: bytes, stopwords: bytes, hashtable: bytes, features: int, bits: int
) -> tuple[bytes, bytes]:
    """Do what the course tool does, from the four input files to its two outputs.

    Args:
        article: The bytes of ``article.txt``.
        sample: The bytes of ``sample.txt``.
        stopwords: The bytes of ``stopwords.txt``.
        hashtable: The bytes of ``hashvalue.txt``.
        features: N, at least 1 and at most the number of rows of the hash table.
        bits: M, ``1 <= bits <= 128``.

    Returns:
        The bytes of ``result.txt``, and the bytes printed: the block of the first sample, or
        nothing if there is no sample.

    Raises:
        ValueError: N, M or the hash table is not as it must be.
    """
    rows = hash_rows(hashtable, features, bits)
    article_pages = pages(article)
    article_ids = [page_id for page_id, _ in article_pages]
    bodies = [body for _, body in article_pages]
    vector = feature_vector(bodies, stop_words(stopwords), features)
    stored = [fingerprint(body, vector, rows, bits) for body in bodies]
    blocks: list[bytes] = []
    for sample_id, body in pages(sample):
        query = fingerprint(body, vector, rows, bits)
        matches = within(stored, query, LARGEST_REPORTED_DISTANCE)
        blocks.append(sample_block(sample_id, matches, article_ids))
    return b"".join(blocks), b"".join(blocks[:1])
