"""What the languages of the older encodings look like: their letters beyond ASCII, the frequent ones first."""

from __future__ import annotations

from typing import NamedTuple


class Language(NamedTuple):
    """``letters`` (lower case, or without case) by frequency; ``latin`` when they stand among ASCII letters.

    ``signs`` is how many of its characters beyond ASCII are signs, as a share.
    """

    letters: str
    latin: bool = False
    signs: float = 0.06


class Charset(NamedTuple):
    """A codec, the languages written in it, and how many nats rarer it is than the usual codec for them."""

    codec: str
    languages: tuple[str, ...]
    rarity: float = 0.0


# Signs beyond ASCII that occur in every language, the frequent ones first.
SIGNS = "’“”–—…«»„‘•·°©®™§€£№\u00a0¿¡²³½±×µ´`¼¾¢¶ªº‚‹›†‡¬¦¹÷"

LANGUAGES: dict[str, Language] = {
    "English": Language("éèïçñöüáâêà", latin=True, signs=0.75),
    "French": Language("éèàêçùîôûâœïëüÿæ", latin=True),
    "German": Language("üäößé", latin=True),
    "Spanish": Language("óíáñéúü", latin=True),
    "Portuguese": Language("ãçáéíóêõúâàôü", latin=True),
    "Italian": Language("èàòùéìîó", latin=True),
    "Catalan": Language("éàóèòíçúïü", latin=True),
    "Nordic": Language("åäöøæéüðíáóþúýê", latin=True),
    "Dutch": Language("ëéïèüöê", latin=True),
    "Polish": Language("ąęłóśżćńź", latin=True),
    "Czech": Language("íáéěřčžšýůúťňóď", latin=True),
    "Slovak": Language("áíéčšýžúôľťóňäďĺŕ", latin=True),
    "Hungarian": Language("áéöóőíüúű", latin=True),
    "Croatian": Language("čšžćđ", latin=True),
    "Romanian": Language("ăîâşţșț", latin=True),
    "Turkish": Language("ıüşğçöâîû", latin=True),
    "Baltic": Language("āšėųžīēūįčąļņęķģõäöü", latin=True),
    # Vietnamese in Windows-1258 writes its tones as separate combining marks.
    "Vietnamese": Language("\u0301\u0300\u0323\u0309\u0303đươôâêăáàéèóúíùìãõ", latin=True),
    "Russian": Language("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"),
    "Ukrainian": Language("оанивіертслкдумпязьбгйчхцжшюїєщфґ"),
    "Bulgarian": Language("аиоетнрсвлкдпмзъугбчящхцжйшюфь"),
    "Serbian": Language("аоиенрсјтукдвлмпбгзчшцжћхљђњфџ"),
    "Greek": Language("αοιετσνηυρπκμλςόήίάωγέδύχθώφβξζψϊϋ"),
    "Hebrew": Language("יוהלאתרבמשנםעדחקפכטןגצסזךץף"),
    "Arabic": Language("الينمتربوسعدكفةحقهىجشأصطضخزءذثظإغئؤآ،؟پگچک"),
    "Thai": Language("านรกอเงมยลวดตทส่้ัีิปบคหแจพชขใไุูะำ์ถผึโ็ศซธณญภษฟฐ"),
    "Japanese": Language(
        "のにはをたがでてとしれさいるあもなこらりっかまくよすけきせおみちえつわそどやんうめだばじひげぶべろねほふむぼゆぎご"
        "、。ーンスルトアイリラクシドジフタプコグテマカレロッサデャバニムキオメパ「」・（）！？　"
        "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入"
        "選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強"
        "気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書"
    ),
    "Simplified Chinese": Language(
        "的，一。是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
        "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把"
        "、：；“”（）《》？！　机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被"
        "利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几"
    ),
    "Traditional Chinese": Language(
        "的，一。是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所"
        "然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把"
        "、：；「」（）《》？！　機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見"
        "利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾"
    ),
    "Korean": Language(
        "이다는을의에가고하지한도로사리어기서자은인나대해를시정아일들그수것있라만부원제장여게으스전동주보구성공적무상국위조"
        "모안면신과소오우선비세미경용유마관계말당두교치간연방재요되와진학내생거할니터후분통개명양실행업러중음드회발차물점트식"
    ),
}

_WESTERN = ("English", "French", "German", "Spanish", "Portuguese", "Italian", "Catalan", "Nordic", "Dutch")
_CENTRAL = ("Polish", "Czech", "Slovak", "Hungarian", "Croatian", "Romanian", "German")
_CYRILLIC = ("Russian", "Ukrainian", "Bulgarian", "Serbian")

CHARSETS = (
    Charset("cp1252", _WESTERN, -1),
    Charset("iso8859_15", _WESTERN, 1),
    Charset("mac_roman", _WESTERN, 3.5),
    Charset("cp850", _WESTERN, 3),
    Charset("cp437", _WESTERN, 4),
    Charset("cp1250", _CENTRAL, 1),
    Charset("iso8859_2", _CENTRAL, 2),
    Charset("cp852", _CENTRAL, 4),
    Charset("mac_latin2", _CENTRAL, 5),
    Charset("cp1254", ("Turkish",), 1),
    Charset("iso8859_9", ("Turkish",), 2),
    Charset("cp1257", ("Baltic",), 2),
    Charset("iso8859_13", ("Baltic",), 3),
    Charset("iso8859_4", ("Baltic",), 4),
    Charset("iso8859_16", ("Romanian",), 5),
    Charset("cp1258", ("Vietnamese",), 3),
    Charset("cp1251", _CYRILLIC),
    Charset("koi8_r", ("Russian",), 1),
    Charset("koi8_u", ("Ukrainian", "Russian"), 1.5),
    Charset("iso8859_5", _CYRILLIC, 2),
    Charset("cp866", ("Russian", "Bulgarian"), 2),
    Charset("cp855", _CYRILLIC, 4),
    Charset("mac_cyrillic", _CYRILLIC, 3),
    Charset("cp1253", ("Greek",)),
    Charset("iso8859_7", ("Greek",), 1),
    Charset("cp737", ("Greek",), 4),
    Charset("cp1255", ("Hebrew",)),
    Charset("iso8859_8", ("Hebrew",), 1),
    Charset("cp862", ("Hebrew",), 4),
    Charset("cp1256", ("Arabic",)),
    Charset("iso8859_6", ("Arabic",), 1),
    Charset("cp720", ("Arabic",), 4),
    Charset("cp874", ("Thai",)),
    Charset("cp932", ("Japanese",)),
    Charset("euc_jp", ("Japanese",), 1),
    Charset("shift_jis_2004", ("Japanese",), 3),
    Charset("gb18030", ("Simplified Chinese", "Traditional Chinese")),
    Charset("cp950", ("Traditional Chinese",)),
    Charset("big5hkscs", ("Traditional Chinese",), 1),
    Charset("cp949", ("Korean",)),
    Charset("johab", ("Korean",), 5),
)
