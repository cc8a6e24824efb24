"""Pairs of texts in English and Chinese, written for these tests, by how they differ.

``pairs()`` yields all of them. What should be found of each kind is said by the tests that use it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

LANGUAGES = ("en", "zh")


class Pair(NamedTuple):
    """Two texts, and how the second was made of the first."""

    name: str
    language: str
    a: str
    b: str


LIGHTHOUSE = """\
The lamp at Corran Point has been lit every evening for a hundred and forty years. It was built
after the winter of 1883, when three fishing boats struck the same reef within a month and only
one crew came home. The tower is not tall, because the cliff below it already does most of the
work, but its walls are nearly two metres thick at the base. Until the electric cable arrived, a
keeper climbed the spiral stairs every four hours to wind the clockwork that turned the lens. The
lens itself came from Paris in eleven crates packed with straw, and the invoice still hangs in the
hallway of the keeper's cottage. Today a small computer in the basement decides when the lamp goes
on, and an engineer visits twice a year to clean the glass and replace the batteries. Ships no
longer depend on it, since they find their way by satellite. The harbour office nevertheless
decided last spring to keep the light burning, for the sake of the small boats that sail without
instruments and of the people in the village, who say that they sleep better when the beam passes
over their curtains. Visitors may climb the tower on Saturdays between May and September. There
are ninety-eight steps, the last twelve of them a steep iron ladder, and the wind at the top is
strong even on calm days. Bring a coat, leave your umbrella with the warden, and count the seconds
between two flashes: there should be seven.
"""

BREAD = """\
Good rye bread asks for patience and for very little else. Begin two days before you mean to bake,
by stirring a spoonful of sourdough into a cup of coarse flour and enough warm water to make a
thick paste. Cover the bowl with a damp cloth and forget it until the next morning. When bubbles
break on the surface and the kitchen smells faintly of apples, add the rest of the flour, a little
salt, and a handful of seeds if you like them. Rye dough never becomes smooth and elastic like
wheat dough; it stays sticky however long you knead, so wet your hands and stop as soon as no dry
flour is left. Scrape it into a greased tin, press the top flat with a wet spatula and let it rise
in a warm corner until small cracks appear. This may take three hours in summer and six in
January. Heat the oven as far as it will go, put the tin on the lowest shelf, and lower the
temperature after a quarter of an hour. The loaf is done when it sounds hollow under your
knuckles. The hardest part comes last: wrap the bread in linen and do not cut it before the next
day, because the crumb needs that night to set. It keeps for more than a week, tastes best on the
third day, and a slice of it with cold butter is worth all the waiting.
"""

LIBRARY_ZH = """\
老城区的图书馆在上个月重新开放了。这座三层小楼建于一九二六年，原来是一家丝绸商行的账房，\
抗战时期做过临时医院，后来又当过粮店的仓库。十多年前，屋顶漏雨，楼梯腐朽，馆里只好把书搬到\
郊区的新馆，大门一锁就是好几年。街坊们舍不得它，每逢开会就有人提起，说孩子放学以后没有地方\
可去。去年春天，区里终于拨了一笔款子，请来几位老木匠和一位年轻的建筑师。他们先把每一块地板\
编上号码，拆下来晾干，再一块一块地铺回去；窗户照着旧照片重新做，玻璃却换成了隔音的双层玻璃。\
一楼现在是阅览室，摆着四十张桌子，靠窗的座位每天早晨不到九点就坐满了人。二楼留给孩子，地上\
铺着软垫，周末有志愿者来讲故事。三楼收藏地方志和老报纸，读者需要提前一天预约，戴上手套才能\
翻阅。馆长说，开放的头一个星期就办了一千二百张借书证，其中年纪最大的读者九十一岁，他年轻的\
时候曾经在这里记过账。傍晚闭馆以前，楼里会响起一小段钢琴曲，提醒大家把书放回原处。有人问馆长\
为什么不用广播，她笑着说，书里的人刚刚走了很远的路，应当轻一点叫他们回来。
"""

TEA_ZH = """\
清明前后，山里的茶农一天只睡四五个小时。天还没有亮，采茶的人就背着竹篓上了坡，趁露水未干的\
时候把最嫩的芽尖掐下来。手法很有讲究：不能用指甲，也不能拉扯，要用拇指和食指轻轻一提，芽头才\
不会发红。一个熟练的女工从早到晚能采三斤鲜叶，而炒出一斤干茶，差不多要用掉四斤半。鲜叶运到\
山下，先薄薄地摊在竹匾上，让水汽散去一些，到了下午再下锅。铁锅烧到两百多度，师傅伸手进去翻炒，\
靠掌心的感觉判断火候，快了会焦，慢了会闷。头一遍叫杀青，去掉草腥气；第二遍一边压一边搓，让\
叶子变得又扁又直；最后一遍用小火慢慢烘，香气这才出来。如今许多人家添了机器，省力不少，可是\
最好的那一批仍旧用手炒，因为机器分不出雨天的叶子和晴天的叶子。新茶不宜马上喝，要用纸包好，\
放进铺了石灰的坛子里，过上半个月，火气退了，味道才会甘醇。泡茶的水不要滚开，八十度上下正好。\
茶叶在杯子里竖起来，慢慢地往下沉，像一片小小的树林。老茶农说，一年的辛苦，就看这一杯水的颜色。
"""

ARTICLES = {"en": (LIGHTHOUSE, BREAD), "zh": (LIBRARY_ZH, TEA_ZH)}

TITLES = {
    "en": ("A lamp that nobody needs, and nobody would miss for the world\n", "Corran Point\n"),
    "zh": ("丝绸商行的账房，又见读书声\n", "本报讯：老城图书馆开门迎客\n"),
}

# Words and what may stand for them.
SYNONYMS = {
    "en": {
        "evening": "night", "winter": "cold season", "small": "little", "decided": "resolved",
        "Visitors": "Guests", "strong": "fierce", "village": "hamlet", "clean": "polish",
        "arrived": "came", "thick": "broad", "Bring": "Take", "tower": "column",
    },
    "zh": {
        "重新开放": "再次开门", "几年": "数年", "孩子": "小朋友", "年轻的": "青年", "终于": "总算",
        "早晨": "清早", "预约": "登记", "旧照片": "老相片", "其中": "里面", "提醒": "告诉",
    },
}  # fmt: skip

SENTENCES = {
    "en": (
        "The morning ferry to Skerrow leaves at 7.30 from pier 2 of the old harbour.",
        "The morning ferry to Skerrow leaves at 9.30 from pier 4 of the old harbour.",
    ),
    "zh": (
        "开往云溪镇的早班车明天七点半从东门车站发车。",
        "开往云溪镇的早班车明天八点半从西门车站发车。",
    ),
}

BOILERPLATE = {
    "en": (
        "Home | News | Weather | Sport | Contact | Search | Log in | Subscribe to our letter\n\n",
        "\n\nShare this page. Related stories. Terms of use, privacy and cookies. All rights "
        "reserved by the publisher; no part may be copied without written consent. This site "
        "is paid for by its readers. Report a mistake to the desk.\n",
    ),
    "zh": (
        "首页｜新闻｜天气｜体育｜论坛｜搜索｜登录｜注册｜手机版｜订阅本站\n\n",
        "\n\n分享到：微博 微信 空间。相关阅读。免责声明：本站内容版权归原作者所有，未经书面授权"
        "不得转载。如有错误请与编辑部联系。关于我们　网站地图　友情链接　返回顶部\n",
    ),
}

NOTICES = {
    "en": (
        "Lost in the park: a grey glove with a red button. Ask for Ida at the kiosk.",
        "The swimming bath opens an hour later on Monday, as the boiler is being inspected.",
    ),
    "zh": (
        "公园失物：一只灰色手套，扣子是红的，请到售货亭找小艾。",
        "因锅炉检修，游泳馆本周一推迟一小时开放，请大家互相转告。",
    ),
}

COUNTERS = {
    "en": "\nPage served on {year}-{month:02}-{day:02}. You are visitor number {count}.\n",
    "zh": "\n更新时间：{year}年{month}月{day}日　本页已被浏览{count}次\n",
}

ADVERTISEMENTS = {
    "en": (
        ("Warm socks, two pairs for the price of one, only this week at Brandt's!",
         "Your old piano is worth more than you think: call us for a free valuation."),
        ("Fly to the sun for less than a night in town. Book before Friday.",
         "Doctors are amazed at this chair. Try it at home for thirty days."),
    ),
    "zh": (
        ("【广告】全场羽绒服三折起，仅限今明两天，到店再送围巾一条！",
         "【推广】零基础学会计，前五十名报名减免学费，名额有限先到先得。"),
        ("【广告】海边度假酒店周末特惠，两晚连住含早餐，点击立即预订。",
         "【推广】老房翻新只要七天，免费上门量尺，不满意全额退款。"),
    ),
}  # fmt: skip


def sentences(text: str, language: str) -> list[str]:
    """Return the sentences of an article, without line breaks."""
    if language == "zh":
        return [part + "。" for part in text.replace("\n", "").split("。") if part]
    return [part.strip(" .") + "." for part in text.replace("\n", " ").split(". ") if part.strip()]


def joined(parts: list[str], language: str) -> str:
    return ("" if language == "zh" else " ").join(parts) + "\n"


def reworked(language: str) -> Pair:
    """An article, and its sentences in another order with words replaced by synonyms."""
    article = ARTICLES[language][0]
    parts = sentences(article, language)
    random.Random(5).shuffle(parts)
    copy = joined(parts, language)
    for word, other in SYNONYMS[language].items():
        assert word in copy, word
        copy = copy.replace(word, other)
    return Pair("reworked", language, article, copy)


def unrelated(language: str) -> Pair:
    """Two articles about different things."""
    return Pair("unrelated", language, *ARTICLES[language])


def retitled(language: str) -> Pair:
    """The same body under two titles."""
    body = ARTICLES[language][0]
    return Pair("retitled", language, *(title + body for title in TITLES[language]))


def mixed(language: str) -> Pair:
    """An article, and a text that holds it and all of another one, paragraph by paragraph."""
    first, second = (sentences(article, language) for article in ARTICLES[language])
    parts = []
    for start in range(0, max(len(first), len(second)), 4):
        parts += [joined(text[start : start + 4], language) for text in (second, first)]
    return Pair("mixed", language, ARTICLES[language][0], "".join(parts))


def two_characters(language: str) -> Pair:
    """A short sentence in which two characters are others."""
    return Pair("two characters", language, *SENTENCES[language])


def equal_boilerplate(language: str) -> Pair:
    """Two short notices on two pages of a site: all but the notice is the same."""
    before, after = BOILERPLATE[language]
    return Pair(
        "equal boilerplate", language, *(before + notice + after for notice in NOTICES[language])
    )


def other_digits(language: str) -> Pair:
    """One article, twice, with another date and hit counter below it."""
    article, line = ARTICLES[language][0], COUNTERS[language]
    return Pair(
        "other digits",
        language,
        article + line.format(year=2025, month=12, day=31, count=104_877),
        article + line.format(year=2026, month=1, day=4, count=105_213),
    )


def other_advertisements(language: str) -> Pair:
    """One article, twice, with other advertisements above it and in its middle."""
    article = ARTICLES[language][0]
    parts = sentences(article, language)
    half = len(parts) // 2
    pages = [
        f"{above}\n{joined(parts[:half], language)}{within}\n{joined(parts[half:], language)}"
        for above, within in ADVERTISEMENTS[language]
    ]
    return Pair("other advertisements", language, *pages)


KINDS = (
    reworked, unrelated, retitled, mixed, two_characters, equal_boilerplate, other_digits,
    other_advertisements,
)  # fmt: skip

# Texts in which there is little or nothing to compare, by what they are.
ODD = {
    "empty": "",
    "white space": " \n\t\u3000\r\n",
    "one letter": "a",
    "one character": "书",
    "punctuation": "... --- !!! ??? ;;; (((",
    "chinese punctuation": "，。！？；：「」……——",
    "digits": "20260104 105213",
    "binary": bytes(range(256)).decode("utf-8", "surrogateescape"),
}


def pairs() -> Iterator[Pair]:
    """Yield every kind of pair in every language."""
    for kind in KINDS:
        for language in LANGUAGES:
            yield kind(language)
