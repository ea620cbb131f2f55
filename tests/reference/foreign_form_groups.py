"""The word groups of `foreign_forms.py`. The twin of `cpp/src/text/foreign_form_groups.hpp`."""

GROUPS = {
    "danish": """
        gå gik gået går; spise spiste spist; drikke drak drukket drikker; skrive skrev skrevet skriver; løbe
        løb løbet løber; købe købte købt køber; bo boede boet bor; se så set ser; få fik fået får; komme kom
        kommet kommer; tage tog taget tager; give gav givet giver; gøre gjorde gjort gør; sige sagde sagt
        siger; vide vidste vidst ved; ligge lå ligget ligger; sidde sad siddet sidder; stå stod stået står;
        sove sov sovet sover; læse læste læst læser; hjælpe hjalp hjulpet hjælper; finde fandt fundet
        finder; tænke tænkte tænkt tænker; sælge solgte solgt sælger; vælge valgte valgt vælger; flyve fløj
        fløjet flyver; svømme svømmede svømmet svømmer; synge sang sunget synger; blive blev blevet bliver;
        forstå forstod forstået forstår; glemme glemte glemt glemmer; møde mødte mødt møder; arbejde
        arbejdede arbejdet arbejder; flytte flyttede flyttet flytter; rejse rejste rejst rejser; bære bar
        båret bærer; bryde brød brudt bryder; vinde vandt vundet vinder; dø døde død dør; holde holdt
        holder; trække trak trukket trækker; betale betalte betalt betaler; hedde hed heddet hedder; spørge
        spurgte spurgt spørger; bringe bragte bragt bringer; lade lod ladet lader; bog bøger; barn børn;
        hånd hænder; mand mænd; datter døtre; bror broder brødre; by byer; fod fødder; tand tænder; nat
        nætter; stad stæder; far fader fædre; mor moder mødre; søster søstre; øje øjne; gås gæs; ko køer;
        bonde bønder; kraft kræfter; god bedre bedst; dårlig værre værst; gammel ældre ældst; lille små
        mindre mindst; stor større størst; ung yngre yngst; mange flere flest
    """,
    "dutch": """
        gaan ging gingen gegaan gaat + mee weg uit door; komen kwam kwamen gekomen komt + mee terug aan;
        eten at aten gegeten eet; drinken dronk dronken gedronken drinkt; schrijven schreef schreven
        geschreven schrijft + op in; kopen kocht kochten gekocht koopt; spreken sprak spraken gesproken
        spreekt + af; denken dacht dachten gedacht denkt + na; brengen bracht brachten gebracht brengt + mee
        terug; nemen nam namen genomen neemt + mee op aan; zien zag zagen gezien ziet; vinden vond vonden
        gevonden vindt; rijden reed reden gereden rijdt; lopen liep liepen gelopen loopt; lezen las lazen
        gelezen leest + voor; slapen sliep sliepen geslapen slaapt; zoeken zocht zochten gezocht zoekt + uit
        op; geven gaf gaven gegeven geeft + op uit; helpen hielp hielpen geholpen helpt; verliezen verloor
        verloren verliest; beginnen begon begonnen begint; blijven bleef bleven gebleven blijft; vliegen
        vloog vlogen gevlogen vliegt; zwemmen zwom zwommen gezwommen zwemt; krijgen kreeg kregen gekregen
        krijgt; houden hield hielden gehouden houdt; weten wist wisten geweten weet; staan stond stonden
        gestaan staat; zitten zat zaten gezeten zit; liggen lag lagen gelegen ligt; roepen riep geroepen
        roept; dragen droeg droegen gedragen draagt; doen deed deden gedaan doet; zeggen zei zeiden gezegd
        zegt; vragen vroeg vroegen gevraagd vraagt + aan; vergeten vergat vergaten; begrijpen begreep
        begrepen begrijpt; ontmoeten ontmoette; sterven stierf gestorven sterft; trekken trok getrokken
        trekt; vertrekken vertrok vertrokken vertrekt; winnen won gewonnen wint; zingen zong gezongen zingt;
        springen sprong gesprongen springt; snijden sneed gesneden snijdt; kiezen koos kozen gekozen kiest;
        bieden bood geboden biedt + aan; breken brak gebroken breekt; worden werd geworden wordt; verkopen
        verkocht verkoopt; bezoeken bezocht bezoekt; wonen woonde gewoond woont; werken werkte gewerkt
        werkt; maken maakte gemaakt maakt; koken kookte gekookt kookt; spelen speelde gespeeld speelt; leren
        leerde geleerd leert; leven leefde geleefd leeft; reizen reisde gereisd reist; bellen belde gebeld
        belt + op; betalen betaalde betaald betaalt; verhuizen verhuisde verhuisd verhuist; trouwen trouwde
        getrouwd trouwt; horen hoorde gehoord hoort; voelen voelde gevoeld voelt; wachten wachtte gewacht
        wacht; praten praatte gepraat praat; hopen hoopte gehoopt hoopt; sturen stuurde gestuurd stuurt;
        plannen plande gepland plant; gebruiken gebruikte gebruikt; halen haalde gehaald haalt + op; fietsen
        fietste gefietst fietst; wandelen wandelde gewandeld wandelt; huren huurde gehuurd huurt; stoppen
        stopte gestopt stopt; stad steden; kind kinderen; ei eieren; schip schepen; lid leden; weg wegen;
        dag dagen; bad baden; glas glazen; dak daken; gat gaten; koe koeien; been benen; lied liederen;
        museum musea; goed beter best; veel meer meest; weinig minder minst
    """,
    "finnish": """
        syödä söi syö söin syön syönyt; juoda joi juo join juon juonut; mennä meni menee menin menen mennyt;
        lukea luki lukee luin luen lukenut; tulla tuli tulee tulin tulen tullut; nähdä näki näkee näin näen
        nähnyt; tehdä teki tekee tein teen tehnyt; tietää tiesi tiesin tiedän tiennyt; ostaa osti ostin
        ostan ostanut; asua asui asuu asuin asun asunut; antaa antoi annoin annan antanut; ottaa otti otin
        otan ottanut; juosta juoksi juoksee juoksin juoksen juossut; nukkua nukkui nukkuu nukuin nukun
        nukkunut; tavata tapasi tapaa tapasin tapaan tavannut; haluta halusi haluaa halusin haluan halunnut;
        pelata pelasi pelaa pelasin pelaan pelannut; saada sai saa sain saan saanut; lähteä lähti lähtee
        lähdin lähden lähtenyt; löytää löysi löysin löydän löytänyt; ajaa ajoi ajoin ajan ajanut; kirjoittaa
        kirjoitti kirjoitin kirjoitan kirjoittanut; käydä kävi käy kävin käyn käynyt; kaupunki kaupungin
        kaupungissa kaupunkiin kaupungit; lapsi lapset lapsen lapsia; käsi kädet käden kättä; vesi veden
        vettä; työ töitä työtä työssä; kieli kielen kieliä; mies miehet miehen; nainen naiset naisen;
        ihminen ihmiset ihmisen; veli veljet veljen; tytär tyttäret tyttären; sisar siskot; hyvä parempi
        paras hyvin; kenkä kengät kengän; matka matkan matkat; tyttö tytöt tytön; poika pojat pojan; pöytä
        pöydän pöydät; lehti lehden lehdet; kuusi kuuden; yö yöt yön
    """,
    "french": """
        aller va vais vas vont ira irai irait allé allait; faire fait faites font fera ferai ferait faisait
        fit; dire dit dites disait dira; prendre pris prise prend prennent prenait prendra; voir vu vue voit
        voient voyait verra vit; boire bu boit boivent buvait boira; venir venu vient viennent venait
        viendra vint; lire lu lit lisent lisait; écrire écrit écrivent écrivait; mettre mis mise met mettent
        mettait mettra; recevoir reçu reçoit reçoivent recevra; connaître connu connaît connaissait
        connaissent; vouloir veut veux veulent voulu voulait voudrait voudrais; pouvoir peut peux peuvent pu
        pouvait pourra pourrait; savoir sait sais savent su savait saura; vivre vit vivent vécu vivait;
        naître né née naît naquit; mourir mort morte meurt meurent mourut; ouvrir ouvert ouverte ouvre;
        offrir offert offerte offre; devoir doit dois doivent dû devait devra devrait; tenir tenu tient
        tiennent tenait tiendra; conduire conduit conduisait; dormir dort dorment dormi; suivre suit suivi
        suivait; perdre perdu perd; rendre rendu rend; croire cru croit croient croyait; apprendre appris
        apprend apprennent; comprendre compris comprend comprennent; devenir devenu devient deviennent;
        revenir revenu revient reviennent; promettre promis promet; permettre permis permet; vendre vendu
        vend; attendre attendu attend; répondre répondu répond; descendre descendu descend; entendre entendu
        entend; courir court couru courait; servir sert servi servait; sentir sent senti sentait; partir
        part pars parti partait; sortir sort sors sorti sortait; choisir choisit choisi; finir finit fini
        finissait; plaire plaît plu; pleuvoir pleut plu pleuvait; rire rit ri; construire construit;
        produire produit; peindre peint; craindre craint; asseoir assis assise assied; découvrir découvert
        découvre; battre battu bat; appartenir appartenu appartient; envoyer envoie envoyé enverra; essayer
        essaie essayé; payer paie paye payé; acheter achète acheté; falloir faut fallu fallait; valoir vaut
        valu; recevoir reçu; beau bel belle beaux; vieux vieil vieille; nouveau nouvel nouvelle nouveaux;
        blanc blanche; frais fraîche; sec sèche; long longue; public publique; doux douce; faux fausse; roux
        rousse; fou folle; œil yeux oeil; travail travaux; bail baux; corail coraux; vitrail vitraux; ciel
        cieux; monsieur messieurs; madame mesdames; bon bonne meilleur meilleure mieux; mauvais pire; acteur
        actrice; directeur directrice; conducteur conductrice; serveur serveuse; vendeur vendeuse; chanteur
        chanteuse; coiffeur coiffeuse; danseur danseuse; copain copine; neveu nièce
    """,
    "german": """
        gehen ging gegangen geht gehst + aus weg los unter auf ab an mit vor zurück hin; kommen kam gekommen
        kommt + an mit zurück vor aus; essen aß gegessen isst ißt; trinken trank getrunken trinkt; sprechen
        sprach gesprochen spricht + an ab aus; fahren fuhr gefahren fährt + ab los weg mit zurück; schreiben
        schrieb geschrieben schreibt + auf an ab; finden fand gefunden findet + statt heraus; denken dachte
        gedacht denkt + nach; bringen brachte gebracht bringt + mit zurück unter; nehmen nahm genommen nimmt
        + ab an auf mit zu teil; laufen lief gelaufen läuft + ab weg; treffen traf getroffen trifft + ein;
        lesen las gelesen liest + vor; geben gab gegeben gibt + auf ab an aus zurück; helfen half geholfen
        hilft + aus; verlieren verlor verloren verliert; beginnen begann begonnen beginnt; ziehen zog
        gezogen zieht + um ein aus an weg; fliegen flog geflogen fliegt + ab zurück; heißen hieß geheißen
        heißt; wissen wusste gewusst weiß; mögen mochte gemocht mag; schlafen schlief geschlafen schläft +
        ein aus; bleiben blieb geblieben bleibt; sitzen saß gesessen sitzt; stehen stand gestanden steht +
        auf an; sehen sah gesehen sieht + an aus fern wieder; schwimmen schwamm geschwommen schwimmt; rufen
        rief gerufen ruft + an zurück ab; fallen fiel gefallen fällt + ein auf aus; fangen fing gefangen
        fängt + an; halten hielt gehalten hält + an auf; lassen ließ gelassen lässt; schneiden schnitt
        geschnitten schneidet + ab ein; singen sang gesungen singt; springen sprang gesprungen springt;
        sterben starb gestorben stirbt; tragen trug getragen trägt + ein bei; waschen wusch gewaschen wäscht
        + ab; werfen warf geworfen wirft + weg; gewinnen gewann gewonnen gewinnt; vergessen vergaß vergisst;
        verstehen verstand verstanden versteht; bekommen bekam bekommt; erhalten erhielt erhält; empfehlen
        empfahl empfohlen empfiehlt; entscheiden entschied entschieden entscheidet; unterschreiben
        unterschrieb unterschrieben; gefallen gefiel gefällt; versprechen versprach versprochen verspricht;
        besprechen besprach besprochen bespricht; bitten bat gebeten bittet; bieten bot geboten bietet + an;
        brechen brach gebrochen bricht + ab; brennen brannte gebrannt brennt; kennen kannte gekannt kennt;
        nennen nannte genannt nennt; rennen rannte gerannt rennt; leihen lieh geliehen leiht + aus; reiten
        ritt geritten reitet; steigen stieg gestiegen steigt + ein aus um; schließen schloss geschlossen
        schließt + ab an aus; schlagen schlug geschlagen schlägt + vor; stehlen stahl gestohlen stiehlt;
        streiten stritt gestritten streitet; tun tat getan tut; verbringen verbrachte verbracht verbringt;
        wachsen wuchs gewachsen wächst + auf; backen gebacken bäckt; laden lud geladen lädt + ein; leiden
        litt gelitten leidet; liegen lag gelegen liegt; messen maß gemessen misst; schießen schoss
        geschossen schießt; schreien schrie geschrien schreit; senden sandte gesandt; wenden wandte gewandt;
        wiegen wog gewogen wiegt; kaufen kaufte gekauft kauft + ein; wohnen wohnte gewohnt wohnt; arbeiten
        arbeitete gearbeitet arbeitet; kochen kochte gekocht kocht; spielen spielte gespielt spielt; machen
        machte gemacht macht + auf zu mit an aus; sagen sagte gesagt sagt + ab zu; fragen fragte gefragt
        fragt + nach; lernen lernte gelernt lernt + kennen; lieben liebte geliebt liebt; leben lebte gelebt
        lebt; planen plante geplant plant; suchen suchte gesucht sucht + aus; brauchen brauchte gebraucht
        braucht; hören hörte gehört hört + auf zu an; holen holte geholt holt + ab; stellen stellte gestellt
        stellt + vor ein aus; zahlen zahlte gezahlt zahlt + ein aus zurück; zeigen zeigte gezeigt zeigt;
        schicken schickte geschickt schickt + ab zurück; feiern feierte gefeiert feiert; reisen reiste
        gereist reist + ab an; wandern wanderte gewandert wandert + aus ein; tanzen tanzte getanzt tanzt;
        heiraten heiratete geheiratet; kündigen kündigte gekündigt; wechseln wechselte gewechselt; lachen
        lachte gelacht; träumen träumte geträumt; glauben glaubte geglaubt glaubt; hoffen hoffte gehofft
        hofft; warten wartete gewartet; nutzen nutzte genutzt nutzt; öffnen öffnete geöffnet; putzen putzte
        geputzt; rauchen rauchte geraucht; räumen räumte geräumt + auf ein; legen legte gelegt legt + ab an
        auf; melden meldete gemeldet + an ab; mieten mietete gemietet; bauen baute gebaut + ab auf an;
        rechnen rechnete gerechnet + ab; schauen schaute geschaut + an; setzen setzte gesetzt; danken dankte
        gedankt; joggen joggte gejoggt; malen malte gemalt; sammeln sammelte gesammelt; sparen sparte
        gespart; üben übte geübt; ändern änderte geändert; besser gut best; älter alt; größer groß größt;
        jünger jung; länger lang; kürzer kurz; höher hoch höchst; näher nah nächst; stärker stark; Arzt
        Ärztin Ärzte; Freund Freundin; Freunde Freundinnen; Lehrer Lehrerin; Kollege Kollegin; Chef Chefin;
        Nachbar Nachbarin; Kunde Kundin; Bruder Brüder; Mutter Mütter; Vater Väter; Tochter Töchter; Sohn
        Söhne; Museum Museen; Konto Konten; Firma Firmen; Thema Themen; Datum Daten; Amt Ämter; Bild Bilder;
        Blatt Blätter; Buch Bücher; Dach Dächer; Dorf Dörfer; Ei Eier; Fach Fächer; Feld Felder; Gehalt
        Gehälter; Gesicht Gesichter; Glas Gläser; Haus Häuser; Huhn Hühner; Kind Kinder; Kleid Kleider;
        Krankenhaus Krankenhäuser; Land Länder; Lied Lieder; Loch Löcher; Mann Männer; Mitglied Mitglieder;
        Rad Räder; Fahrrad Fahrräder; Schloss Schlösser; Tuch Tücher; Volk Völker; Wald Wälder; Wort Wörter;
        Wörterbuch Wörterbücher
    """,
    "greek": """
        γράφω γράφει έγραψα έγραψε γράψει γράψω έγραφα γραμμένο; μένω μένει έμεινα έμεινε μείνω μείνει
        έμενα; τρώω τρώει έφαγα έφαγε φάω φάει έτρωγα; πίνω πίνει ήπια ήπιε πιω πιει έπινα; αγοράζω αγοράζει
        αγόρασα αγόρασε αγοράσω αγοράσει; δουλεύω δουλεύει δούλεψα δούλεψε δούλευε δούλευα δουλέψω; μιλάω
        μιλάει μίλησα μίλησε μιλήσω μιλούσα; πηγαίνω πηγαίνει πάω πάει πήγα πήγε πήγαινα; βλέπω βλέπει είδα
        είδε δω δει έβλεπα; λέω λέει είπα είπε πω πει έλεγα; παίρνω παίρνει πήρα πήρε πάρω πάρει έπαιρνα;
        δίνω δίνει έδωσα έδωσε δώσω δώσει έδινα; βρίσκω βρίσκει βρήκα βρήκε βρω βρει; έρχομαι έρχεται ήρθα
        ήρθε έρθω έρθει; φεύγω φεύγει έφυγα έφυγε φύγω φύγει; αγαπώ αγαπάω αγαπάει αγάπησα αγάπησε; θέλω
        θέλει ήθελα ήθελε; ξέρω ξέρει ήξερα ήξερε; διαβάζω διαβάζει διάβασα διάβασε διαβάσω; ταξιδεύω
        ταξιδεύει ταξίδεψα ταξίδεψε ταξιδέψω; κάνω κάνει έκανα έκανε; ακούω ακούει άκουσα άκουσε ακούσω;
        παίζω παίζει έπαιξα έπαιξε παίξω; πληρώνω πληρώνει πλήρωσα πλήρωσε; ανοίγω ανοίγει άνοιξα άνοιξε;
        κλείνω κλείνει έκλεισα έκλεισε; αρχίζω αρχίζει άρχισα άρχισε; τελειώνω τελειώνει τελείωσα τελείωσε;
        μαθαίνω μαθαίνει έμαθα έμαθε μάθω; μαγειρεύω μαγειρεύει μαγείρεψα μαγείρεψε; χάνω χάνει έχασα έχασε
        χάσω; κερδίζω κερδίζει κέρδισα κέρδισε; στέλνω στέλνει έστειλα έστειλε στείλω; φέρνω φέρνει έφερα
        έφερε φέρω; βάζω βάζει έβαλα έβαλε βάλω; βγαίνω βγαίνει βγήκα βγήκε βγω; μπαίνω μπαίνει μπήκα μπήκε
        μπω; ανεβαίνω ανεβαίνει ανέβηκα ανέβηκε; κατεβαίνω κατεβαίνει κατέβηκα κατέβηκε; κοιμάμαι κοιμάται
        κοιμήθηκα κοιμήθηκε; θυμάμαι θυμάται θυμήθηκα θυμήθηκε; φοβάμαι φοβάται φοβήθηκα; χρειάζομαι
        χρειάζεται χρειάστηκα; γίνομαι γίνεται έγινα έγινε; κάθομαι κάθεται κάθισα κάθισε; πεθαίνω πεθαίνει
        πέθανα πέθανε; γεννήθηκα γεννήθηκε γεννιέμαι; παντρεύομαι παντρεύεται παντρεύτηκα παντρεύτηκε;
        μετακομίζω μετακομίζει μετακόμισα μετακόμισε; προτιμώ προτιμάει προτίμησα; σπουδάζω σπουδάζει
        σπούδασα σπούδασε; χορεύω χορεύει χόρεψα χόρεψε; τρέχω τρέχει έτρεξα έτρεξε; ψάχνω ψάχνει έψαξα
        έψαξε; αλλάζω αλλάζει άλλαξα άλλαξε; σταματάω σταμάτησα σταμάτησε; ζω ζει έζησα έζησε ζούσα; μπορώ
        μπορεί μπόρεσα μπορούσα; παιδί παιδιά παιδιού παιδιών; αδελφός αδερφός αδελφοί αδέρφια; αδελφή
        αδερφή; καλός καλή καλό καλύτερος καλύτερο καλύτερα; κακός χειρότερος χειρότερο; μεγάλος
        μεγαλύτερος; μικρός μικρότερος; γιαγιά γιαγιάδες; παππούς παππούδες; καφές καφέδες; γυναίκα γυναίκες
        γυναικών; άντρας άντρες άνδρας; κρέας κρέατα κρέατος; φως φώτα; αυγό αβγό
    """,
    "italian": """
        fare fatto fa fanno fece faccio feci faceva farà; dire detto dice dico disse dissi diceva dirà;
        andare andato va vado vai vanno andò andrà; prendere preso prende prese presi; vedere visto vede
        vide vidi veduto vedrà; bere bevuto beve bevve bevo; venire venuto viene vengo vieni venne verrà;
        leggere letto legge lesse lessi; scrivere scritto scrive scrisse scrissi; mettere messo mette mise
        misi; chiedere chiesto chiede chiese chiesi; volere vuole voglio voluto vuoi volle vorrei vorrebbe;
        potere può posso puoi possono potuto potrà potrebbe; dovere deve devo devono dovuto dovrà dovrebbe;
        sapere sa so sai sanno saputo seppe saprà; vivere vissuto vive visse; nascere nato nasce nacque;
        morire morto muore morì; aprire aperto apre aprì; uscire esce esco uscito escono uscì; tenere tiene
        tengo tenuto tenne; rimanere rimasto rimane rimango rimase; perdere perso perde perse perduto;
        scegliere scelto sceglie scelgo scelse; vincere vinto vince vinse; spendere speso spende spese;
        chiudere chiuso chiude chiuse; correre corso corre corse; capire capisce capisco capito; finire
        finisce finisco finito; preferire preferisce preferisco preferito; rompere rotto rompe ruppe;
        decidere deciso decide decise; rispondere risposto risponde rispose; conoscere conosciuto conosce
        conobbe; crescere cresciuto cresce crebbe; piacere piaciuto piace piacque; dare dato dà do diede;
        stare stato sta sto stette; scendere sceso scende scese; salire salito sale salgo; offrire offerto
        offre offrì; coprire coperto copre; scoprire scoperto scopre scoprì; ridere riso ride rise; piangere
        pianto piange pianse; dipingere dipinto dipinge dipinse; cuocere cotto cuoce; tradurre tradotto
        traduce tradusse; produrre prodotto produce produsse; proporre proposto propone propose; comporre
        composto compone compose; togliere tolto toglie tolse; cogliere colto coglie; accendere acceso
        accende accese; dipendere dipeso dipende; succedere successo succede successe; muovere mosso muove
        mosse; discutere discusso discute discusse; promettere promesso promette promise; permettere
        permesso permette; sedere siede siedo seduto; spegnere spento spegne spense; pulire pulisce pulisco
        pulito; spedire spedisce spedito; costruire costruisce costruito; giocare gioca giocato; riuscire
        riesce riesco riuscito; uomo uomini; dio dei; bue buoi; uovo uova; dito dita; braccio braccia;
        ginocchio ginocchia; paio paia; mille mila; buono buon buona migliore meglio; cattivo peggiore
        peggio; grande maggiore; piccolo minore; attore attrice attori; direttore direttrice; scrittore
        scrittrice; dottore dottoressa; studente studentessa; professore professoressa; amico amici; medico
        medici; greco greci; re regina; dea dee
    """,
    "norwegian": """
        gå gikk gått går; spise spiste spist; drikke drakk drukket drikker; skrive skrev skrevet skriver;
        løpe løp løpt løper; kjøpe kjøpte kjøpt kjøper; bo bodde bor; se så sett ser; få fikk fått får;
        komme kom kommet kommer; ta tok tatt tar; gi ga gav gitt gir; gjøre gjorde gjort gjør; si sa sagt
        sier; vite visste visst vet; ligge lå ligget ligger; sitte satt sittet sitter; stå sto stod stått
        står; sove sov sovet sover; lese leste lest leser; hjelpe hjalp hjulpet hjelper; finne fant funnet
        finner; tenke tenkte tenkt tenker; selge solgte solgt selger; velge valgte valgt velger; fly fløy
        fløyet flyr; svømme svømte svømt svømmer; synge sang sunget synger; bli ble blitt blir; forstå
        forsto forstod forstått forstår; glemme glemte glemt glemmer; møte møtte møtt møter; arbeide
        arbeidet arbeider; jobbe jobbet jobber; flytte flyttet flytter; reise reiste reist reiser; bære bar
        båret bærer; bryte brøt brutt bryter; vinne vant vunnet vinner; dø døde død dør; holde holdt holder;
        trekke trakk trukket trekker; betale betalte betalt betaler; hete het hett heter; spørre spurte
        spurt spør; bringe brakte brakt bringer; la lot latt lar; bok bøker; barn barna; hånd hender; mann
        menn; datter døtre; bror brødre; fot føtter; tann tenner; natt netter; far fedre; mor mødre; søster
        søstre; tre trær; kne knær; gås gjess; bonde bønder; kraft krefter; god bedre best; dårlig verre
        verst; gammel eldre eldst; liten små mindre minst; stor større størst; ung yngre yngst; mange flere
        flest
    """,
    "portuguese": """
        ir vai vou foi fui vão foram ia iam ido irá; fazer fez faço fiz feito faz fazia fará fizeram; dizer
        disse diz digo dito dizia dirá disseram; ter tem teve tenho tive têm tinha terá; vir veio vem venho
        vim vinha virá vieram; querer quis quer quero queria; poder pode pôde posso pude podia poderá; pôr
        pôs põe ponho posto punha por; ver viu vê vejo visto via vi; escrever escrito escreveu escreve;
        dormir durmo dorme dormiu; saber soube sabe sei sabia; trazer trouxe traz trago trazia; perder perco
        perdeu perde; pedir peço pediu pede; ler leu lê leio lido lia; sair saiu sai saio saía; ouvir ouço
        ouviu ouve; chegar cheguei chegou chega; ficar fiquei ficou fica; preferir prefiro preferiu prefere;
        sentir sinto sentiu sente; vestir visto vestiu veste; servir sirvo serviu serve; conseguir consigo
        conseguiu consegue; seguir sigo seguiu segue; mentir minto mentiu mente; cobrir cubro cobriu cobre
        coberto; abrir aberto abriu abre; descobrir descubro descobriu descobre descoberto; dar dou deu dá
        dado dei; crer creio creu crê; medir meço mediu mede; haver houve há; cair caiu cai caio caía; rir
        ri riu rio; subir subo subiu sobe; fugir fujo fugiu foge; pagar paguei pagou paga pago; jogar joguei
        jogou joga; começar comecei começou começa; buscar busquei buscou busca; tocar toquei tocou toca;
        explicar expliquei explicou explica; ganhar ganhou ganho ganha; gastar gastou gasto gasta; morrer
        morreu morre morto; nascer nasceu nasce; conhecer conheço conheceu conhece; crescer cresço cresceu
        cresce; esquecer esqueço esqueceu esquece; odiar odeio odiou odeia; passear passeio passeou passeia;
        dirigir dirijo dirigiu dirige; coração corações; pão pães; mão mãos; irmão irmãos; irmã irmãs;
        alemão alemães alemã; cão cães; limão limões; avião aviões; reunião reuniões; opinião opiniões;
        estação estações; canção canções; lição lições; animal animais; hotel hotéis; lençol lençóis; papel
        papéis; jornal jornais; hospital hospitais; azul azuis; fácil fáceis; difícil difíceis; casal
        casais; final finais; móvel móveis; homem homens; viagem viagens; imagem imagens; mensagem
        mensagens; jovem jovens; som sons; bom boa bons boas melhor; mau má pior; grande maior; pequeno
        menor; avó avô avós; ator atriz; rei rainha; português portuguesa portugueses; inglês inglesa
        ingleses; francês francesa franceses
    """,
    "russian": """
        жить живёт живу живут жил жила живем; любить люблю любит любил; есть ест едят ел ела ели съел съесть
        съела; пить пил пила пьёт пью пьют; писать пишет пишу пишут писал писала; ехать едет еду едут ехал
        ехала; идти иду идёт идут шёл шла шли; пойти пошёл пошла пойдёт пойду; прийти пришёл пришла придёт
        приду; уйти ушёл ушла уйдёт уйду; купить купил купила куплю купит покупать покупает; хотеть хочет
        хочу хотят хотел хотела; мочь может могу могут мог могла; взять взял взяла возьму возьмёт; дать дал
        дала даст дам; встретить встретил встречу встретит; помочь помог помогла поможет помогу; найти нашёл
        нашла найдёт найду; видеть вижу видел видит видела; спать сплю спит спал спала; лететь лечу летит
        летел; искать ищет ищу ищут искал искала; платить плачу платит платил; бежать бегу бежит бежал;
        сидеть сижу сидит сидел; ходить хожу ходит ходил; водить вожу водит водил; возить вожу возит возил;
        носить ношу носит носил; просить прошу просит просил; ждать ждёт жду ждал; звать зовёт зову зовут
        звал; брать берёт беру брал; класть кладёт кладу клал; петь поёт пою пел; мыть моет мою мыл; стать
        стал стала станет стану; встать встал встала встанет; умереть умер умерла умрёт; начать начал начала
        начнёт начну; понять понял поняла поймёт пойму; принять принял приняла примет; снять снял сняла
        снимет сниму; забыть забыл забудет забуду; сказать сказал скажет скажу; показать показал покажет
        покажу; рассказать рассказал расскажет; заказать заказал закажет закажу; сесть сел села сядет сяду;
        лечь лёг легла ляжет; мочь может могу; готовить готовлю готовит готовил; поехать поехал поедет
        поеду; приехать приехал приедет приеду; переехать переехал переедет перееду; продать продал продаст
        продам; ответить ответил отвечу ответит; простить прощу простил простит; бросить бросил брошу
        бросит; учить учу учит учил; резать режет режу резал; плакать плачет плакал; вести ведёт веду вёл
        вела; везти везёт везу вёз везла; нести несёт несу нёс несла; расти растёт расту рос росла; друг
        друзья друга друзей другу другом; ребёнок дети ребёнка детей детям; человек люди человека людей
        людям; дочь дочери дочерью; мать матери матерью; отец отца отцу отцом отцы; день дни дня дней дню
        днём; кошка кошек кошки; деньги денег деньгам; письмо писем письма; брат братья братьев; сын сыновья
        сыновей; сестра сёстры сестёр; стул стулья; муж мужья мужей; имя имена имени; время времена времени
        времён; окно окон; девушка девушек; подруга подруги подруг; ошибка ошибок; чашка чашек; книжка
        книжек; копейка копеек; бабушка бабушек; дедушка дедушек; сутки суток; конец конца концы; месяц
        месяцев; палец пальца пальцы; рынок рынка; подарок подарка подарки; щенок щенка щенки; цветок цветка
        цветы; сосед соседи соседей; хозяин хозяева; хороший хорошо лучше лучший; плохой плохо хуже худший;
        большой больше; маленький меньше; высокий выше; близкий ближе; далёкий далеко дальше; дорогой дорого
        дороже; молодой моложе; старый старше
    """,
    "spanish": """
        ir va voy vas vamos van fue fui fueron iba iban ido irá; hacer hizo hago hice hecho hace hacía hará
        hicieron; decir dijo dice digo dije dicho decía dirá dijeron; tener tiene tuvo tengo tuve tienes
        tienen tenía tendrá; venir vino viene vengo vine vienen venía vendrá; querer quiere quiso quiero
        quise quieren quería; poder puede pudo puedo pude pueden podía podrá; poner puso pone pongo puse
        puesto ponía pondrá; ver vio visto veo ve veía vi; escribir escrito escribió escribe; dormir duerme
        durmió duermo duermen durmiendo; jugar juega jugó juego juegan jugué; pensar piensa pensó pienso
        piensan; preferir prefiere prefirió prefiero prefieren; conocer conozco conoce conoció; saber supo
        sabe sé supe sabía sabrá; traer trajo traigo trae traje traído; pedir pide pidió pido piden
        pidiendo; morir muerto murió muere mueren muriendo; volver vuelve vuelto volvió vuelvo; abrir
        abierto abrió abre; empezar empieza empezó empiezo empecé; comenzar comienza comenzó comienzo
        comencé; recordar recuerda recordó recuerdo; contar cuenta contó cuento; seguir sigue siguió sigo
        siguen; salir salgo sale salió saldrá; almorzar almuerza almorzó almuerzo; encontrar encuentra
        encontró encuentro; andar anduvo anda anduve; leer leyó lee leí leído; caer cayó cae caigo caído;
        oír oyó oye oigo oído oir; buscar busqué buscó busca; llegar llegué llegó llega; pagar pagué pagó
        paga; sacar saqué sacó saca; tocar toqué tocó toca; explicar expliqué explicó explica; practicar
        practiqué practicó practica; cruzar crucé cruzó cruza; dar dio da doy di dado; servir sirve sirvió
        sirvo; vestir viste vistió visto; sentir siente sintió siento; perder pierde perdió pierdo; entender
        entiende entendió entiendo; cerrar cierra cerró cierro; despertar despierta despertó despierto;
        sentar sienta sentó siento; acostar acuesta acostó acuesto; costar cuesta costó cuestan; mostrar
        muestra mostró muestro; probar prueba probó pruebo; soñar sueña soñó sueño; volar vuela voló vuelo;
        mover mueve movió muevo; doler duele dolió duelen; romper roto rompió rompe; cubrir cubierto cubrió
        cubre; descubrir descubierto descubrió descubre; freír frito fríe frió; conducir condujo conduce
        conduzco conduje; producir produjo produce; traducir tradujo traduce traduzco; elegir elige eligió
        elijo; conseguir consigue consiguió consigo; repetir repite repitió; mentir miente mintió; reír ríe
        rió reir; construir construyó construye; huir huyó huye; nacer nazco nació nace; ofrecer ofrezco
        ofreció ofrece; parecer parezco pareció parece; caber cupo cabe quepo; voz voces; lápiz lápices; vez
        veces; luz luces; pez peces; cruz cruces; feliz felices; nariz narices; actriz actrices actor; raíz
        raíces; paz paces; juez jueces jueza; bueno buen buena mejor; malo mal mala peor; grande gran mayor;
        pequeño menor; rey reina; príncipe princesa; emperador emperatriz; francés francesa; inglés inglesa;
        alemán alemana
    """,
    "swedish": """
        gå gick gått går; äta åt ätit äter; dricka drack druckit dricker; skriva skrev skrivit skriver;
        springa sprang sprungit springer; köpa köpte köpt köper; bo bodde bott bor; åka åkte åkt åker; se
        såg sett ser; få fick fått får; komma kom kommit kommer; ta tog tagit tar; ge gav gett givit ger;
        göra gjorde gjort gör; säga sade sa sagt säger; veta visste vetat vet; ligga låg legat ligger; sitta
        satt suttit sitter; stå stod stått står; sova sov sovit sover; läsa läste läst läser; hjälpa hjälpte
        hjälpt hjälper; hitta hittade hittat hittar; tänka tänkte tänkt tänker; sälja sålde sålt säljer;
        välja valde valt väljer; flyga flög flugit flyger; simma simmade simmat simmar; sjunga sjöng sjungit
        sjunger; bli blev blivit blir; förstå förstod förstått förstår; glömma glömde glömt glömmer; möta
        mötte mött möter; träffa träffade träffat träffar; jobba jobbade jobbat jobbar; arbeta arbetade
        arbetat arbetar; flytta flyttade flyttat flyttar; resa reste rest reser; lära lärde lärt lär; bära
        bar burit bär; bryta bröt brutit bryter; vinna vann vunnit vinner; dö dog dött dör; hålla höll
        hållit håller; dra drog dragit drar; betala betalade betalat betalar; vilja ville velat vill; kunna
        kunde kunnat kan; måla målade målat målar; höra hörde hört hör; ringa ringde ringt ringer; bjuda
        bjöd bjudit bjuder; skära skar skurit skär; stjäla stal stulit stjäl; bok böcker; man män; barn
        barnen; stad städer; natt nätter; son söner; dotter döttrar; bror broder bröder; mor moder mödrar;
        fot fötter; hand händer; tand tänder; land länder; bonde bönder; kvinna kvinnor; god bra bättre
        bäst; dålig sämre sämst; gammal äldre äldst; liten små mindre minst; stor större störst; ung yngre
        yngst; många fler flest
    """,
}
