"""Sentences in many languages, each with the encodings that its readers have used."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "English": (
        "The committee met on Tuesday and agreed that the café’s “new” contract – signed in 1998 – costs €250.",
        ("cp1252",),
    ),
    "French": (
        "Le comité s'est réuni à l'hôtel où l'élève français a reçu une leçon très sévère. Ça coûte déjà très cher.",
        ("cp1252", "latin-1", "iso8859_15", "mac_roman", "cp850"),
    ),
    "German": (
        "Die Größe der Straße überrascht die Bürger von München: über fünfzig Häuser müssen schöner werden.",
        ("cp1252", "latin-1", "mac_roman", "cp850", "cp437"),
    ),
    "Spanish": (
        "El niño español comió una manzana por la mañana. ¿Qué pasó? ¡Nada! La canción del corazón está aquí también.",
        ("cp1252", "latin-1", "cp850"),
    ),
    "Portuguese": (
        "A reunião não começou às três horas. As ações da organização são públicas e você também está convidado.",
        ("cp1252", "latin-1"),
    ),
    "Swedish": ("Många människor på ön åt räksmörgåsar i går kväll. Där är också några små röda båtar.", ("latin-1",)),
    "Italian": (
        "Perché la città è così bella? Il caffè è già pronto, però non c'è più zucchero.",
        ("cp1252", "latin-1"),
    ),
    "Polish": (
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Zażółć gęślą jaźń.",
        ("cp1250", "iso8859_2"),
    ),
    "Czech": (
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti.",
        ("cp1250", "iso8859_2"),
    ),
    "Hungarian": (
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Őszintén köszönöm.",
        ("cp1250",),
    ),
    "Turkish": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Güneşli bir gün, çok güzel şey değil mi?",
        ("cp1254", "iso8859_9"),
    ),
    "Russian": (
        "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.",
        ("cp1251", "koi8_r", "iso8859_5", "cp866", "mac_cyrillic"),
    ),
    "Ukrainian": (
        "Всі люди народжуються вільними і рівними у своїй гідності та правах. Їжак і ґава живуть у Києві.",
        ("cp1251", "koi8_u"),
    ),
    "Greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
        ("cp1253", "iso8859_7"),
    ),
    "Hebrew": (
        "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.",
        ("cp1255", "iso8859_8"),
    ),
    "Arabic": ("يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا.", ("cp1256", "iso8859_6")),
    "Thai": ("มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ", ("cp874", "tis_620")),
    "Japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。東京タワーの高さは三百三十三メートルです。",
        ("shift_jis", "cp932", "euc_jp", "iso2022_jp"),
    ),
    "Simplified Chinese": (
        "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
        ("gb18030", "gbk", "gb2312", "hz"),
    ),
    "Traditional Chinese": (
        "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。",
        ("big5", "cp950", "gb18030"),
    ),
    "Korean": (
        "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
        ("euc_kr", "cp949", "iso2022_kr"),
    ),
}

LEGACY_CASES = [(language, codec) for language, (_, codecs) in SENTENCES.items() for codec in codecs]
UNICODE_ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "utf-32-le",
    "utf-32-be",
)
