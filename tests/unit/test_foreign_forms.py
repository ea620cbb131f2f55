"""The analyzers of other languages find words in their irregular forms and other spellings."""

from __future__ import annotations

import pytest

from scrubjay import Index, Scope

ACME = Scope("acme")

PAIRS = {
    "german": """
        Müller Mueller; Mueller Müller; Straße Strasse; Strasse Straße; Größe Groesse; Groesse Größe; Fuß Fuss;
        Weiß Weiss; Jürgen Juergen; Köln Koeln; Köln Koln; über ueber; Bücher Buecher; Buch Bücher; Haus Häuser;
        Kind Kinder; ging gehen; gegangen gehen; aß essen; gegessen essen; sprach sprechen; gesprochen sprechen;
        fuhr fahren; gefahren fahren; schrieb schreiben; geschrieben schreiben; fand finden; gefunden finden;
        dachte denken; gedacht denken; brachte bringen; gebracht bringen; nahm nehmen; genommen nehmen;
        trank trinken; getrunken trinken; lief laufen; gelaufen laufen; kaufte kaufen; gekauft kaufen;
        wohnt wohnen; gewohnt wohnen; traf treffen; getroffen treffen; las lesen; gelesen lesen; isst essen;
        fährt fahren; spricht sprechen; läuft laufen; gab geben; gegeben geben; Ärztin Arzt; Freundin Freund;
        Mutter Mütter; Bruder Brüder; besser gut; älter alt; umgezogen umziehen; angerufen anrufen;
        eingekauft einkaufen; schwamm schwimmen; geschwommen schwimmen; half helfen; verlor verlieren;
        verloren verlieren; begann beginnen; begonnen beginnen; zog ziehen; gezogen ziehen; flog fliegen;
        geflogen fliegen; hieß heißen; wusste wissen; weiß wissen; mochte mögen; mag mögen; schlief schlafen;
        geschlafen schlafen; blieb bleiben; geblieben bleiben; saß sitzen; stand stehen; gestanden stehen;
        sah sehen; gesehen sehen; sieht sehen
    """,
    "swedish": """
        Malmö Malmoe; Åsa Aasa; Åse Aase; bok böcker; man män; åt äta; ätit äta; gick gå; gått gå; skrev skriva;
        skrivit skriva; sprang springa; köpte köpa; köpt köpa; bodde bo; åkte åka; drack dricka; druckit dricka;
        såg se; fick få; barn barnen; hus huset; flicka flickor; stad städer; natt nätter; son söner;
        dotter döttrar; bror bröder; fot fötter; hand händer
    """,
    "danish": """
        Århus Aarhus; Aarhus Århus; Aabenraa Åbenrå; Sørensen Soerensen; Soerensen Sørensen; Sørensen Sorensen;
        Kjær Kjaer; Kjaer Kjær; Bøger Boeger; bog bøger; barn børn; hånd hænder; mand mænd; gik gå; gået gå;
        spiste spise; drak drikke; skrev skrive; købte købe; boede bo; datter døtre; bror brødre; by byer
    """,
    "norwegian": """
        Ålesund Aalesund; Aalesund Ålesund; Tromsø Tromsoe; Tromsø Tromso; Håkon Haakon; Haakon Håkon;
        bok bøker; barn barna; hånd hender; mann menn; gikk gå; gått gå; spiste spise; drakk drikke;
        skrev skrive; kjøpte kjøpe; bodde bo; datter døtre; bror brødre; fot føtter
    """,
    "russian": """
        город города; городом города; делать делал; делаю делал; читаю читать; читала читать; работает работать;
        работал работаю; живёт жить; живет живу; жил жить; люблю любить; любит люблю; ела есть; пил пить;
        пьёт пить; пишет писать; писал пишу; писала писать; едет ехать; ехал ехать; еду ехать; шёл идти;
        шла идти; иду идти; пошёл пойти; купил купить; куплю купить; хочет хотеть; хочу хотел; может мочь;
        могу может; сестра сёстры; друг друзья; друга друзей; ребёнок дети; человек люди; брат братья;
        ёлка елка; жена жёны; дочь дочери; мать матери; отец отца; день дни; дня день; собака собаку;
        кошка кошек; книга книги; деньги денег; письмо писем; Москва Москве; красивая красивый; лучше хороший;
        врач врачу; взял взять; возьму взять; дал дать; даст дать; встретил встретить; встречу встретил;
        помог помочь; поможет помочь; нашёл найти; найдёт найти; вижу видеть; видел видит; сплю спать;
        спит спать; спал спать; лечу лететь; вожу водить; ищет искать; искал ищу; плачу платить; помню помнить;
        купила покупать; съел есть
    """,
    "greek": """
        σπίτι σπιτιού; σπίτια σπίτι; άνθρωπος άνθρωποι; ανθρώπου άνθρωπος; γράφω γράφει; έγραψα γράφω;
        έγραψε γράφει; γράψει γράφω; μένω μένει; έμεινα μένω; τρώω έφαγα; τρώει τρώω; έφαγε τρώει; πίνω ήπια;
        ήπιε πίνει; αγοράζω αγόρασα; αγόρασε αγοράζει; δουλεύω δούλεψα; δουλεύει δούλευε; μιλάω μίλησα;
        μιλάει μίλησε; πηγαίνω πήγα; πήγε πηγαίνει; πάω πήγα; βλέπω είδα; είδε βλέπει; λέω είπα; είπε λέει;
        παίρνω πήρα; δίνω έδωσα; βρίσκω βρήκα; έρχομαι ήρθα; φεύγω έφυγα; αγαπώ αγαπάει; αγαπάω αγάπησα;
        παιδί παιδιά; γυναίκα γυναίκες; αδελφός αδερφός; πόλη πόλεις; Ελλάδα ελλαδα; Αθήνα Αθηνα; θέλω ήθελα;
        ξέρω ήξερα; διαβάζω διάβασα; ταξιδεύω ταξίδεψε
    """,
    "french": """
        été ete; élève eleve; cheval chevaux; travail travaux; œil yeux; journal journaux; mangé manger;
        mange manger; mangeait manger; allé aller; va aller; vais aller; ira aller; vont aller; fait faire;
        font faire; fera faire; dit dire; pris prendre; prend prendre; prennent prendre; vu voir; voit voir;
        verra voir; bu boire; boit boire; boivent boire; vient venir; venu venir; viendra venir; lu lire;
        lit lire; écrit écrire; écrivait écrire; mis mettre; met mettre; reçu recevoir; reçoit recevoir;
        connaît connaître; connu connaître; veut vouloir; voulu vouloir; voudrait vouloir; peut pouvoir;
        pu pouvoir; sait savoir; su savoir; vit vivre; vécu vivre; né naître; mort mourir; ouvert ouvrir;
        offert offrir; préfère préférer; achète acheter; acheté acheter; appelle appeler; habite habiter;
        cœur coeur; sœur soeur; beau belle; belle beaux; vieux vieille; nouveau nouvelle; blanc blanche;
        heureux heureuse; ami amie; animaux animal; tenu tenir; tient tenir; conduit conduire; dort dormir;
        part partir; sort sortir; suit suivre; perdu perdre; rendu rendre; cru croire; croit croire
    """,
    "spanish": """
        niño nino; corazón corazon; camión camiones; lápiz lápices; voz voces; comió comer; come comer; fue ir;
        va ir; voy ir; iba ir; hizo hacer; hago hacer; hecho hacer; dijo decir; dice decir; dicho decir;
        tiene tener; tuvo tener; tengo tener; vino venir; viene venir; quiere querer; quiso querer; puede poder;
        pudo poder; puso poner; puesto poner; vio ver; visto ver; escrito escribir; escribió escribir;
        duerme dormir; durmió dormir; juega jugar; jugó jugar; piensa pensar; pensó pensar; prefiere preferir;
        prefirió preferir; conoce conocer; conozco conocer; sabe saber; supo saber; sé saber; trajo traer;
        traigo traer; compró comprar; vive vivir; vivió vivir; pide pedir; pidió pedir; muerto morir;
        murió morir; vuelve volver; vuelto volver; abierto abrir; empieza empezar; empezó empezar;
        recuerda recordar; cuenta contar; sigue seguir; siguió seguir; salgo salir; saldrá salir;
        almuerza almorzar; encuentra encontrar; anduvo andar; leyó leer; cayó caer; oyó oír; llegó llegar;
        llegué llegar; busqué buscar; buscó buscar; mejor bueno; actriz actrices
    """,
    "portuguese": """
        coração coracao; coração corações; pão pães; mão mãos; alemão alemães; animal animais; hotel hotéis;
        lençol lençóis; foi ir; vai ir; vou ir; fez fazer; faço fazer; feito fazer; disse dizer; diz dizer;
        dito dizer; tem ter; teve ter; tenho ter; veio vir; vem vir; quer querer; quis querer; pode poder;
        pôde poder; pôs pôr; viu ver; visto ver; escrito escrever; escreveu escrever; dorme dormir;
        durmo dormir; sabe saber; soube saber; trouxe trazer; traz trazer; comprou comprar; mora morar;
        morou morar; prefere preferir; prefiro preferir; perdeu perder; perco perder; pede pedir; peço pedir;
        leu ler; lê ler; saiu sair; sai sair; homem homens; mulher mulheres; irmão irmãos; irmã irmãs;
        português portuguesa; avó avô; ouve ouvir; ouço ouvir; cheguei chegar; ficou ficar; fiquei ficar
    """,
    "italian": """
        città citta; perché perche; amico amici; amica amiche; uomo uomini; uovo uova; dito dita; fatto fare;
        fa fare; fanno fare; fece fare; detto dire; dice dire; disse dire; andato andare; va andare;
        vado andare; vanno andare; preso prendere; prese prendere; visto vedere; vide vedere; bevuto bere;
        beve bere; venuto venire; viene venire; vengo venire; letto leggere; lesse leggere; scritto scrivere;
        scrisse scrivere; messo mettere; mise mettere; chiesto chiedere; chiese chiedere; vuole volere;
        voglio volere; può potere; posso potere; deve dovere; devo dovere; sa sapere; so sapere; seppe sapere;
        vissuto vivere; visse vivere; nato nascere; nacque nascere; morto morire; aperto aprire; esce uscire;
        esco uscire; tiene tenere; rimasto rimanere; perso perdere; scelto scegliere; vinto vincere;
        speso spendere; chiuso chiudere; corso correre; mangiato mangiare; mangia mangiare; capisce capire;
        finisce finire; preferisce preferire; bianco bianchi; lungo lunghi; compro comprare; medico medici;
        rotto rompere; deciso decidere
    """,
    "dutch": """
        café cafe; ging gaan; gegaan gaan; at eten; gegeten eten; dronk drinken; gedronken drinken;
        schreef schrijven; geschreven schrijven; kocht kopen; gekocht kopen; woonde wonen; woont wonen;
        gewoond wonen; sprak spreken; gesproken spreken; huis huizen; stad steden; kind kinderen; brief brieven;
        man mannen; boek boeken; dacht denken; gedacht denken; bracht brengen; gebracht brengen; nam nemen;
        genomen nemen; zag zien; gezien zien; vond vinden; gevonden vinden; werkt werken; gewerkt werken;
        reed rijden; gereden rijden; liep lopen; gelopen lopen; koopt kopen; leest lezen; las lezen;
        gelezen lezen; slaapt slapen; sliep slapen; zoekt zoeken; zocht zoeken; ei eieren; schip schepen
    """,
    "finnish": """
        talo talot; talossa talo; talon talo; koira koiran; koirat koira; kissa kissat; kaupunki kaupungissa;
        kaupungin kaupunki; asun asua; asuu asua; söi syödä; syö syödä; joi juoda; meni mennä; menee mennä;
        luki lukea; lukee lukea; kirjoitti kirjoittaa; kirja kirjat; lapsi lapset; käsi kädet; äiti aiti;
        tyttö tytot; työ tyossa; vesi veden
    """,
}
"""Pairs of words of each language, each of which must be found by the other."""


def rows(language: str) -> list[tuple[str, str]]:
    pairs = [pair.split() for pair in PAIRS[language].split(";")]
    return [row for a, b in pairs for row in ((a, b), (b, a))]


@pytest.mark.parametrize("language", PAIRS)
def test_a_word_is_found_in_its_other_forms(language: str) -> None:
    missing = []
    for number, (written, asked) in enumerate(rows(language)):
        index = Index(analyzer=language)
        index.upsert("other", "xqzzv wkkp", scope=ACME)
        index.upsert("it", f"zzza {written} zzzb", scope=ACME)
        found = index.search(asked, scope=ACME, explain=True)
        if list(found.ids) != ["it"] or not found[0].matched_terms:
            missing.append((number, written, asked))
    assert missing == []


@pytest.mark.parametrize(
    ("analyzer", "written", "asked"),
    [
        ("english", "Mueller", "M\u00fcller"), ("english", "M\u00fcller", "Mueller"),
        ("english", "Aarhus", "\u00c5rhus"), ("english", "Tromsoe", "Troms\u00f8"),
        ("plain", "Joerg", "J\u00f6rg"), ("french", "Zuerich", "Z\u00fcrich"),
    ],
)  # fmt: skip
def test_marked_letters_are_also_two(analyzer: str, written: str, asked: str) -> None:
    index = Index(analyzer=analyzer)
    index.upsert("it", f"zzza {written} zzzb", scope=ACME)
    index.upsert("other", "xqzzv wkkp", scope=ACME)
    assert list(index.search(asked, scope=ACME).ids) == ["it"]


@pytest.mark.parametrize(
    ("analyzer", "written", "asked"),
    [
        ("english", "fuhr", "fahren"),  # the table is of the analyzer's language
        ("german", "fuhr", "gehen"),
        ("german", "fuhr", "x:fahren_7"),  # a part of an identifier is taken literally
        ("english", "pot", "poet"), ("english", "pot", "Poet"),  # not a name
        ("spanish", "era", "ser"),  # auxiliaries do not count
    ],
)  # fmt: skip
def test_other_words_are_not_found(analyzer: str, written: str, asked: str) -> None:
    index = Index(analyzer=analyzer)
    index.upsert("it", f"zzza {written} zzzb", scope=ACME)
    assert list(index.search(asked, scope=ACME).ids) == []


def test_a_form_weighs_no_more_than_the_word_of_the_question() -> None:
    index = Index(analyzer="german")
    for number in range(20):
        index.upsert(f"often{number}", "Er will fahren.", scope=ACME)
    index.upsert("once", "Er fuhr sie.", scope=ACME)
    scores = {hit.id: hit.score for hit in index.search("fahren", scope=ACME, k=30)}
    assert scores["once"] == scores["often0"]


def test_a_word_with_a_known_form_is_not_corrected() -> None:
    index = Index(analyzer="german")
    index.upsert("it", "Er fuhr gestern.", scope=ACME)
    assert not index.search("gefahren", scope=ACME).corrections
