"""Frequency of units, by a frozen table: characters of Chinese and Japanese, English words.

The table is part of the recipe of passage indexes (:mod:`.passage_recipe`) and never changes. The
Chinese characters are those that jieba 0.42.1 (MIT) counts most often in its dictionary, each with
its traditional form.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from simstore.fingerprint.stopwords import ENGLISH
from simstore.text.located import LocatedUnits, located_units
from simstore.text.normalization import Normalization

# The 100 most frequent characters, those up to 300, and those up to 1,000.
_CHARACTERS = (
    (
        "一是人了不在有大中国和为这上他个地年来我会以到时要出的生学说道民家子也成行下们于后就发自之对得"
        "主长可过天作分方用多你着部能市等业全里工公经本都而高政法面门动日进区事代那去心小同北定开产前其"
        "军还然起种所國爲這個來會時學說們於後發對長過業裏經門動進區開產軍還種為著裡ぁあぃいぅうぇえぉお"
        "かがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべ"
        "ぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんゔゕゖ"
    ),
    (
        "如现理机体表力好外与文当两实重新三么只山水关明从化平建又制南内西没此将员名手最东头者月间无安看"
        "见各城十相但已些正口通想度加第她合院物性战由位常点海意场武使次二向治因立数样身情入原问把路被并"
        "利石老教万知级量任江及应省资委务元美特期世湖回系比气汉总展电科金先声提品设或义王社很统处四首共"
        "马形己儿司太目基领队直计别女权话少流命至报米给打变果书清活几州华解议更称程今决张导术府才保交放"
        "管结师便走达族反再题色五現機體與當兩實麼關從內沒將員東頭間無見戰點場數樣問並萬級應資務氣漢總電"
        "聲設義統處馬兒領隊計別權話報給變書幾華議稱決張導術結師達題"
    ),
    (
        "京河接条规式县白它改风光运信受什组听布百济党指论强做取技黄神选记斯真却职号界件花类何眼兵传带空"
        "干农边据集联古广完质阳难增历史专官每住商即步认车台林必死游举线言皇土团收考求德叫近备研争非具李"
        "众连调感转笑革该持始英克士尔让拉思根格造较际亲单朝红型价校约器字段周亚深候则功属积快图火千准究"
        "往极育装许参半令吃观鱼精办像帝八复影告远群包整构料随划算象容示投势热值夫网望源息语股铁断派速怎"
        "需片爱律纪支早况病境证编越局推满且列觉服双未居除乐企引标确织初青志率项飞球节察龙响药站施均消客"
        "失轻存低甚般击曾防请离落显罗营足素视护副食创余照兴占巴虽洲村费易试星木黑左宝置跟央识维采六底宫"
        "房音环案批切斗富乡另倒若按查故突责严桥模仅胜杀围席态破承招杨负层须父供续状域似依银范修找九致密"
        "终血旅钱赛独细效玉冲获习医演毛尽脸弹楼艺航陆右协七攻镇检写苏宗章注阿抗弟坐验封紧劳户优财养适陈"
        "喜卫排射哥油刻留急降念云微伤例景拿绝阶座刘刚害印亿沙母酒助闻超审待压升送监策略限竟香配藏敌呢差"
        "仍兰温园树征善波哪词岛止预怕继皮执味份角草男普答益谁船惊核街夏宣掌田久画辑奇尼剑吧谈背免孩礼材"
        "愿洋春架筑括晚乱乎讲尚良友临激刀夜室既敢邦挥昌板胡欧福港叶简苦担句岁荆贵娘守辖威宜衣帮块堂额错"
        "剧充欢够孙班呼阵销坚练脚退读测吴希宁换版异某顾曲楚典朱毒菜判救宋茶洪含顺啊鲜败货矿端兄归冷忙买"
        "险康评肉吗厂永哈沉散遗停笔假输牛洞松渐顶训录否述毕督控丰献姑忽爷互亮纳襄登咱钟伯臣雄季脑介鄂召"
        "饭暗扩祖齐短烈赶牌恩诉移诗础露届蒙静喝盘卖植授伊湾博痛减穿逐秘庭陵固禁票灵杂姓泽吸侧庆妈遇追甲"
        "馆补唐炮沿殿刺怪彩俄旧警索岸轮妇载靠附毫怀软骨探雷旁罪枪牙迎序慢盛雨墙恶谷顿危稳熟條規縣風運組"
        "聽濟黨論強黃選記卻職號類傳帶幹農邊據聯廣質陽難歷專認車臺遊舉線團備爭衆連調轉該爾讓較際親單紅價"
        "約亞則屬積圖準極裝許參喫觀魚辦復遠羣構隨劃勢熱網語鐵斷愛紀況證編滿覺雙樂標確織項飛節龍響藥輕擊"
        "請離顯羅營視護創餘興佔雖費試寶識維採宮環鬥鄉責嚴橋僅勝殺圍態楊負層須續狀銀範終錢賽獨細衝獲習醫"
        "盡臉彈樓藝陸協鎮檢寫蘇驗緊勞戶優財養適陳衛雲傷絕階劉剛億聞審壓監敵蘭溫園樹徵詞島預繼執誰驚畫輯"
        "劍談禮願築亂講臨揮歐葉簡擔歲荊貴轄幫塊額錯劇歡夠孫陣銷堅練腳讀測吳寧換異顧順鮮敗貨礦歸買險評嗎"
        "廠遺筆輸漸頂訓錄畢豐獻爺納鍾腦飯擴齊趕訴詩礎屆靜盤賣灣減祕靈雜澤側慶媽館補舊輪婦載懷軟槍牆惡頓"
        "穩眾"
    ),
)
# Grades of the three, of words that say little, and of words of at most so many letters.
_GRADES = (3, 2, 1)
_STOP_WORD = 3
_SHORT_WORD, _SHORT_LETTERS = 1, 3


def commonness(units: LocatedUnits, normalization: Normalization) -> NDArray[np.uint8]:
    """Return how common each unit is: 0 for most, up to 3.

    Args:
        units: Units of a text.
        normalization: The form that they were brought into.

    Returns:
        Shape (units,).
    """
    known, grades = _table(normalization)
    places = np.minimum(np.searchsorted(known, units.hashes), len(known) - 1)
    found = np.where(known[places] == units.hashes, grades[places], np.uint8(0))
    short = units.spaced & (units.ends - units.starts <= _SHORT_LETTERS)
    return np.maximum(found, np.where(short, np.uint8(_SHORT_WORD), np.uint8(0)))


@cache
def _table(normalization: Normalization) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return the hashes of the units that are common, ascending, and their grades."""
    words = b" ".join(sorted(ENGLISH)).decode()
    hashes, grades = [], []
    for text, grade in ((words, _STOP_WORD), *zip(_CHARACTERS, _GRADES, strict=True)):
        found = located_units(text, normalization).hashes
        hashes.append(found)
        grades.append(np.full(len(found), grade, np.uint8))
    # Of what several characters become, the first: the most common.
    known, firsts = np.unique(np.concatenate(hashes), return_index=True)
    return known, np.concatenate(grades)[firsts]
