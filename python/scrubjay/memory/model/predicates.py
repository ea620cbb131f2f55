"""Lists of predicates by the number of values they have at a time, in the languages most often met.

They match whole predicates in the form of :func:`scrubjay.memory.model.cardinality.words_of`. The caller's lists take
precedence.
"""

from __future__ import annotations


def _listed(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.replace("\n", ";").split(";") if name.strip())


SINGLE = _listed(
    """
    age; years old; birthday; date of birth; place of birth; birthplace; height; weight; blood type; blood group;
    gender; pronouns; full name; first name; last name; surname; maiden name; username; user name; handle; lives in;
    lives at; lives; live in; living in; resides in; residence; home; home town; hometown; home city; dwells in;
    home address; city; country; location; based in; is based in; moved to; relocated to; located in; postal address;
    postcode; zip code; timezone; time zone; currently in; staying in; stays in; stay; stays at; works at; works for;
    work at; employer; is employed by; employed by; employed at; company; workplace; works as; work as; job;
    job title; title; role; position; occupation; profession; department; team; office; desk; salary; manager;
    line manager; boss; reports to; is managed by; supervisor; team lead; marital status; relationship status;
    is married to; married to; married; engaged to; spouse; husband; wife; partner; girlfriend; boyfriend; car;
    drives a; vehicle; phone number; telephone number; mobile number; cell phone; email; email address; e-mail;
    e-mail address; mail; website; homepage; weighs; commutes by; commute; rent; diet; is on a diet;
    general practitioner; dentist; therapist; landlord; accountant; gym; bank; insurer; insurance; health insurance;
    school; university; major; pricing plan; tier; subscription plan; subscription tier; status; state; mood; shift;
    reply language; interface language; native language; mother tongue; locale; currency; theme; editor;
    operating system; browser; shell; office hours; opening hours; hours; refund limit; refund rule; limit; budget;
    price; support mail; support address; support email; version; database region; region; owner; ceo; cto; cfo; coo;
    works in; head office;
    headquarters; alcohol; smokes; smoking; drinking; religion; nationality; citizenship; provider; password policy;
    rate limit; quota; wifi password; pin; travel class; train class; alter; wohnt in; wohnhaft in; lebt in; wohnort;
    arbeitet bei; arbeitet für; arbeitgeber; arbeitet als; beruf; chef; chefin; vorgesetzter; verheiratet mit;
    geburtstag; geburtsort; familienstand; gewicht; größe; fährt einen; telefonnummer; auto; âge; habite à; habite;
    vit à; réside à; travaille chez; travaille pour; travaille à; employeur; métier; patron; marié à; mariée à;
    anniversaire; date de naissance; lieu de naissance; poids; taille; domicile; voiture; edad; vive en; reside en;
    residencia; trabaja en; trabaja para; trabaja como; empleador; empresa; jefe; jefa; casado con; casada con;
    cumpleaños; fecha de nacimiento; lugar de nacimiento; peso; estatura; domicilio; coche; ocupación; età; vive a;
    abita a; abita in; residenza; lavora per; lavora presso; lavora a; lavora come; datore di lavoro; capo;
    sposato con; sposata con; compleanno; data di nascita; luogo di nascita; altezza; professione; macchina; idade;
    vive em; mora em; reside em; morada; trabalha em; trabalha na; trabalha no; trabalha para; trabalha como;
    empregador; chefe; casado com; casada com; aniversário; data de nascimento; local de nascimento; altura;
    profissão; carro; leeftijd; woont in; woonplaats; werkt bij; werkt voor; werkt als; werkgever; baas;
    leidinggevende; getrouwd met; verjaardag; geboortedatum; geboorteplaats; lengte; beroep; burgerlijke staat
    """
)
"""Predicates with one value at a time."""

OF_A_KIND = _listed(
    """
    born in; born on; born; birth; phone; telephone; mobile; mobile phone; doctor; physician; lawyer; name;
    is called; called; nickname; address; drives; studies at; leaves at; contact number; model; né à; née à;
    nació en; nato a; nata a; nasceu em; geboren in; geboren am; geboren; telefon; téléphone; teléfono; telefono;
    telefone; telefoon; arzt; médecin; médico; medico; arts; adresse; dirección; indirizzo; endereço; adres; fährt;
    conduit; conduce; guida; dirige; rijdt
    """
)
"""Predicates with one value at a time of each kind: the number of a phone beside its make, a year beside a place."""

ON_CHANGE = _listed(
    """
    is a; is an; is; was; are; joined; eats; eat; drinks; drink; plan; plans; flight; departure; departs at; arrival;
    arrives at; appointment; deadline; due date; due; meeting time; meeting; contact; party; lead; relationship; ist;
    ist ein;
    ist eine; isst; trinkt; termin; frist; flug; est; est un; est une; mange; boit; rendez-vous; échéance; vol; es;
    es un; es una; come; bebe; cita; plazo; vuelo; è; è un; è una; mangia; beve; appuntamento; scadenza; volo; é;
    é um; é uma; consulta; prazo; voo; is een; eet; drinkt; afspraak; vlucht
    """
)
"""Predicates of which a statement ends another only if its words announce a change, or if both only state a number, a
time or a date of the same thing ("the flight leaves at 9:40")."""

ENDS_OF_A_KIND = _listed(
    """
    employer; boss; supervisor; landlord; doctor; dentist; therapist; teacher; tutor; coach; trainer; advisor; adviser;
    deputy; substitute; approver; assignee; chair; president; director; captain; engineer; residence;
    workplace; lehrer; lehrerin; arzt; médecin; médico; medico
    """
)
"""Last words of predicates with one name at a time if two statements differ only in the name: "expense approver"."""

ENDS_ON_CHANGE = _listed(
    """
    goal; target; date; deadline; length; duration; frequency; cadence; interval; schedule; count; total; cost;
    coverage; level; score; grade; budget; policy; rule; minimum; maximum; days; weeks; minutes; distance;
    streak; location; company; bank; school; university; car; bike; team; title; role; position; job; insurance;
    account; plan; subject; topic; state; setting; mode; theme; currency; name; city; town; country; provider;
    carrier; operator; insurer; model; brand; branch; editor; browser; shell; assistant; mentor; maintainer;
    registrar; ziel; datum; kosten; stadt; anbieter; objectif; coût; fournisseur; meta; objetivo; proveedor;
    obiettivo; fornitore; fornecedor; doel; leverancier; preference; situation; arrangement
    """
)
"""Last words of predicates whose statements accumulate unless the words announce a change, or two statements differ
only in a number, a time or a date: "savings goal", "phone model"."""

SEVERAL = _listed(
    """
    likes; dislikes; loves; hates; enjoys; wants; owns; has; has a; knows; speaks; language; languages; visited; met;
    allergy; allergic to; is allergic to; hobby; hobbies; pet; pets; child; children; sibling; brother; sister;
    friend; colleague; instrument; plays; subscription; subscribes to; subscribed to; skill; skills; trip;
    travelled to; goal; read; watched; bought; condition; medication; takes; food no; does not eat; avoids;
    cannot eat; interest; interests; daughter; son; kid; grandchild; grandson; granddaughter; cousin; nephew; niece;
    aunt; uncle; neighbour; neighbor; roommate; flatmate; teammate; client; customer; supplier; student; project;
    device; tool; plant; dog; cat
    """
)
"""Predicates with several values at once, although one of their words is listed as single."""

SYNONYMS = tuple(
    [one.strip() for one in group.replace("\n", ";").split(";") if one.strip()]
    for group in """
    lives in; live in; living in; lives at; lives; resides in; residence; home; home city; home town; hometown;
    moved to; relocated to; is based in; based in; dwells in; wohnt in; lebt in; wohnort; habite à; habite; vit à;
    vive en; reside en; vive a; abita a; abita in; vive em; mora em; woont in; woonplaats

    works at; works for; work at; employer; is employed by; employed by; employed at; workplace; arbeitet bei;
    arbeitet für; arbeitgeber; travaille chez; travaille pour; employeur; trabaja en; trabaja para; empleador;
    lavora per; lavora presso; trabalha em; trabalha na; trabalha no; trabalha para; empregador; werkt bij;
    werkt voor; werkgever

    works as; work as; job; job title; occupation; profession; position; arbeitet als; beruf; trabaja como;
    lavora come; trabalha como; werkt als; beroep

    is married to; married to; spouse; husband; wife; verheiratet mit; marié à; mariée à; casado con; casada con;
    sposato con; sposata con; casado com; casada com; getrouwd met

    marital status; relationship status; familienstand; burgerlijke staat

    age; years old; is aged; alter; âge; edad; età; idade; leeftijd

    birthday; date of birth; born on; geburtstag; date de naissance; fecha de nacimiento; data di nascita;
    data de nascimento; geboortedatum

    birthplace; place of birth; geburtsort; lieu de naissance; lugar de nacimiento; luogo di nascita;
    local de nascimento; geboorteplaats

    phone; phone number; telephone; telephone number

    mobile; mobile number; mobile phone; cell phone

    email; e-mail; email address; e-mail address

    manager; boss; line manager; reports to; is managed by; supervisor; chef; chefin; vorgesetzter; jefe; jefa; capo;
    chefe; baas

    plan; current plan; subscription plan; pricing plan

    allergic to; is allergic to; allergy; allergies; has allergy

    hobby; hobbies

    pet; pets; has pet

    child; children; has child

    speaks; language; languages; speaks language

    car; drives; drives a; vehicle; auto; voiture; coche; macchina; carro

    name; full name

    timezone; time zone

    diet; is on a diet

    deadline; due date; due
    """.split("\n\n")
)
"""Groups of synonymous predicates; the first of each group is the canonical name."""
