#include "text/word_forms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/characters.hpp"
#include "text/letter_marks.hpp"
#include "text/porter2.hpp"
#include "text/possible_stems.hpp"
#include "text/script_forms.hpp"
#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

// The words of a group are forms of one another. A word with a ! is one only as written, because its stem is
// that of another word, too: "leaves" may be a form of "leaf", but "leave" is not.
constexpr std::string_view kGroups =
    "knife knives; wife wives; leaf leaves!; loaf loaves; half halves; shelf shelves!; thief thieves; wolf "
    "wolves; calf calves!; scarf scarves; elf elves; hoof hooves; mouse mice; louse lice; goose geese; tooth "
    "teeth; foot feet; man men; woman women; child children; ox oxen; penny pence; analysis analyses; crisis "
    "crises; hypothesis hypotheses; axis axes!; diagnosis diagnoses; oasis oases; parenthesis parentheses; "
    "synthesis syntheses; emphasis emphases; ellipsis ellipses; neurosis neuroses; metamorphosis "
    "metamorphoses; "
    "criterion criteria; phenomenon phenomena; matrix matrices; vortex vortices; appendix appendices; "
    "bacterium "
    "bacteria; curriculum curricula; memorandum memoranda; stimulus stimuli; cactus cacti; fungus fungi; "
    "nucleus nuclei; alumnus alumni; radius radii; locus loci; colour color; favour favor; favourite "
    "favorite; "
    "honour honor; labour labor; neighbour neighbor; neighbourhood neighborhood; behaviour behavior; humour "
    "humor; rumour rumor; harbour harbor; flavour flavor; armour armor; odour odor; vapour vapor; vigour "
    "vigor; "
    "parlour parlor; savour savor; tumour tumor; glamour glamor; endeavour endeavor; candour candor; rigour "
    "rigor; splendour splendor; centre center; theatre theater; metre meter; litre liter; fibre fiber; "
    "calibre "
    "caliber; lustre luster; sabre saber; spectre specter; tyre tire; grey gray; plough plow; programme "
    "program; catalogue catalog; dialogue dialog; analogue analog; defence defense; offence offense; "
    "pretence "
    "pretense; jewellery jewelry; aluminium aluminum; aeroplane airplane; moustache mustache; pyjamas "
    "pajamas; "
    "sceptical skeptical; sulphur sulfur; manoeuvre maneuver; anaesthesia anesthesia; anaemia anemia; "
    "paediatric pediatric; orthopaedic orthopedic; haemoglobin hemoglobin; leukaemia leukemia; diarrhoea "
    "diarrhea; oestrogen estrogen; foetus fetus; encyclopaedia encyclopedia; fuelled fueled; woollen woolen; "
    "skilful skillful; mould mold; smoulder smolder; cosy cozy; mum mom; thesis theses; quiz quizzes; index "
    "indices; person people; stadium stadia; syllabus syllabi; focus foci; octopus octopi; genus genera; "
    "corpus "
    "corpora; vertex vertices; apex apices; codex codices; dwarf dwarves; passerby passersby; schema "
    "schemata; "
    "stigma stigmata; automaton automata; millennium millennia; symposium symposia; aquarium aquaria; "
    "addendum "
    "addenda; erratum errata; ovum ova; stratum strata; spectrum spectra; datum data; bureau bureaux; "
    "plateau "
    "plateaux; tableau tableaux; judgement judgment; licence license; practise practice; cheque check; kerb "
    "curb; artefact artifact; draught draft; archaeology archeology; archaeologist archeologist; "
    "gynaecologist "
    "gynecologist; gynaecology gynecology; foetal fetal; oesophagus esophagus; caesium cesium; mediaeval "
    "medieval; aesthetic esthetic; kilometre kilometer; centimetre centimeter; millimetre millimeter; "
    "millilitre milliliter; counsellor counselor; whisky whiskey; yoghurt yogurt; doughnut donut; dial "
    "dialled; "
    "wilful willful; disc disk; acknowledgement acknowledgment; "
    // Irregular verbs, without those that have a form which is often another word: run, rose, bound, wound,
    // ground, bore, bit.
    "go went gone; come came; see saw! seen; give gave given; take took taken; get got gotten; make made; "
    "know "
    "knew known; think thought; say said; tell told; buy bought; bring brought; sell sold; send sent; spend "
    "spent; build built; lose lost; sleep slept; sweep swept; weep wept; keep kept; deal dealt; dream "
    "dreamt; "
    "learn learnt; burn burnt; mean meant; feel felt!; leave left; meet met; feed fed; lead led; breed bred; "
    "flee fled; speed sped; hear heard; hold held; stand stood; understand understood; sit sat; win won; "
    "hang "
    "hung; stick stuck; strike struck; dig dug; swing swung; spin spun; shine shone; shoot shot; light lit; "
    "slide slid; hide hid hidden; bite bitten; begin began begun; drink drank drunk; sing sang sung; swim "
    "swam "
    "swum; ring rang rung; sink sank sunk; shrink shrank shrunk; drive drove driven; write wrote written; "
    "ride "
    "rode ridden; break broke broken; choose chose chosen; freeze froze frozen; steal stole stolen; speak "
    "spoke "
    "spoken; wake woke woken; wear wore worn; tear tore torn; swear swore sworn; fly flew flown; grow grew "
    "grown; throw threw thrown; draw drew drawn; blow blew blown; eat ate eaten; fall fell! fallen; pay "
    "paid; "
    "catch caught; teach taught; fight fought; seek sought; become became; forget forgot forgotten; forgive "
    "forgave forgiven; shake shook shaken; mistake mistook mistaken; find found!; lend lent; bend bent; "
    "weave "
    "wove woven; creep crept; kneel knelt; leap leapt; cling clung; sting stung; sew sewn; show shown; prove "
    "proven; spill spilt; spoil spoilt; spell spelt; smell smelt; overcome overcame; undergo underwent "
    "undergone; withdraw withdrew withdrawn; undertake undertook undertaken; overhear overheard; rebuild "
    "rebuilt; repay repaid; rewrite rewrote rewritten; resell resold; retell retold; rethink rethought; "
    "outgrow "
    "outgrew outgrown; babysit babysat; foresee foresaw foreseen; oversee oversaw overseen; arise arose "
    "arisen; "
    "awake awoke awoken; beat beaten; swell swollen; tread trod trodden; strive strove striven; forbid "
    "forbade forbidden; overthrow overthrew overthrown; misunderstand misunderstood; lay laid; outdo outdid "
    "outdone; withstand withstood; uphold upheld; "
    // German plurals in -er, of words that are not English, except Kind.
    "amt amter; bild bilder; blatt blatter; brett bretter; buch bucher; dach dacher; denkmal denkmaler; dorf "
    "dorfer; ei eier; fach facher; fass fasser; feld felder; gehalt gehalter; geschlecht geschlechter; "
    "gesicht "
    "gesichter; glas glaser; glied glieder; gott gotter; haus hauser; huhn huhner; irrtum irrtumer; kalb "
    "kalber; kind kinder; kleid kleider; korn korner; krankenhaus krankenhauser; kraut krauter; lamm lammer; "
    "licht lichter; lied lieder; loch locher; mitglied mitglieder; rathaus rathauser; reichtum reichtumer; "
    "rind "
    "rinder; schloss schlosser; schwert schwerter; strauch straucher; tuch tucher; volk volker; wald walder; "
    "wort worter; worterbuch worterbucher; wurm wurmer";

// Membership of a term in a group.
struct Membership {
  std::string_view written;                  // required spelling; empty: any
  std::span<const std::string_view> others;  // terms
};

// Built once and then read by every query: in few allocations, so that a term costs few cache misses.
class WordFormTable {
 public:
  WordFormTable() {
    // A term of a group, its required spelling (empty: any), and the other terms of the group.
    struct Form {
      std::string term;
      std::string_view written;
      std::vector<std::string> others;
    };
    std::vector<Form> forms;
    for (size_t from = 0; from < kGroups.size();) {
      const size_t end = std::min(kGroups.find(';', from), kGroups.size());
      const size_t first = forms.size();
      for_each_word(kGroups.substr(from, end - from), [&](std::string_view word) {
        const bool exact = word.ends_with('!');
        if (exact) word.remove_suffix(1);
        forms.push_back({porter2(word), exact ? word : std::string_view(), {}});
      });
      for (size_t i = first; i < forms.size(); ++i) {
        for (size_t j = first; j < forms.size(); ++j)
          if (forms[j].term != forms[i].term) forms[i].others.push_back(forms[j].term);
      }
      from = end + 1;
    }
    std::stable_sort(forms.begin(), forms.end(),
                     [](const Form& a, const Form& b) { return a.term < b.term; });
    size_t n_letters = 0, n_others = 0;
    for (const Form& form : forms) {
      n_letters += form.term.size();
      for (const std::string& other : form.others) n_letters += other.size();
      n_others += form.others.size();
    }
    letters_.reserve(n_letters);
    others_.reserve(n_others);
    memberships_.reserve(forms.size());
    slots_.resize(std::bit_ceil(2 * forms.size()));
    for (const Form& form : forms) {
      if (terms_.empty() || terms_.back().term != form.term) add_term(keep(form.term));
      const size_t first_other = others_.size();
      for (const std::string& other : form.others) others_.push_back(keep(other));
      memberships_.push_back({form.written, std::span(others_).subspan(first_other)});
      ++terms_.back().n_memberships;
    }
    mark(term_key("cannot"));  // its replacement depends on the scope (engine/spelling.hpp)
  }

  [[nodiscard]] bool may_hold(uint64_t key) const noexcept {
    const size_t bit = bit_of(key);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  [[nodiscard]] std::span<const Membership> groups_of(std::string_view term) const noexcept {
    for (size_t i = hash_of(term_key(term));; ++i) {
      const uint16_t slot = slots_[i & (slots_.size() - 1)];
      if (slot == 0) return {};
      const Term& one = terms_[slot - 1];
      if (one.term == term) return std::span(memberships_).subspan(one.first_membership, one.n_memberships);
    }
  }

 private:
  static constexpr size_t kBits = 32768;
  struct Term {
    std::string_view term;
    size_t first_membership, n_memberships;
  };

  template <class Visit>
  static void for_each_word(std::string_view words, Visit&& visit) {
    for (size_t from = 0; from < words.size();) {
      const size_t end = std::min(words.find(' ', from), words.size());
      if (end != from) visit(words.substr(from, end - from));
      from = end + 1;
    }
  }
  // The reserved memory does not move.
  [[nodiscard]] std::string_view keep(std::string_view term) {
    const size_t at = letters_.size();
    letters_.append(term);
    return std::string_view(letters_).substr(at);
  }
  void add_term(std::string_view term) {
    terms_.push_back({term, memberships_.size(), 0});
    const uint64_t key = term_key(term);
    mark(key);
    size_t i = hash_of(key);
    while (slots_[i & (slots_.size() - 1)] != 0) ++i;
    slots_[i & (slots_.size() - 1)] = static_cast<uint16_t>(terms_.size());
  }
  void mark(uint64_t key) noexcept {
    const size_t bit = bit_of(key);
    bits_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  [[nodiscard]] static size_t hash_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 32; }
  [[nodiscard]] static size_t bit_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 49; }

  std::array<uint64_t, kBits / 64> bits_{};
  std::vector<uint16_t> slots_;  // open addressing; index + 1 into terms_, 0: empty
  std::vector<Term> terms_;
  std::vector<Membership> memberships_;
  std::vector<std::string_view> others_;
  std::string letters_;
};

const WordFormTable& word_form_table() {
  static const auto* const forms = new WordFormTable;  // never destroyed: threads may outlive statics
  return *forms;
}

// The words of a text that have this term, in lower case, without those in capitals if others have lower-case
// letters: SAT is not the past of sit. nullopt: the text has none in ASCII letters only. `all`: not only the
// first one.
std::optional<std::vector<std::string>> words_of(std::string_view term, std::string_view text, bool all) {
  constexpr size_t kMostBytes = 24;
  std::optional<std::vector<std::string>> words;
  const bool any_small = std::any_of(text.begin(), text.end(), is_lower);
  const PossibleStems stem(term);
  visit_letter_runs(text, term.front(), [&](std::string_view piece) {
    if (piece.size() < 2 || piece.size() > kMostBytes || !stem.may_be_of(piece)) return false;
    std::string word(piece);
    std::transform(word.begin(), word.end(), word.begin(), to_lower);
    if (porter2(word) != term) return false;
    if (!words) words.emplace();
    const bool shouted = any_small && std::all_of(piece.begin(), piece.end(), is_upper);
    if (!shouted) words->push_back(std::move(word));
    return !shouted && !all;
  });
  return words;
}

bool meant_as(const Membership& group, std::span<const std::string> written) noexcept {
  return group.written.empty() ? !written.empty()
                               : std::find(written.begin(), written.end(), group.written) != written.end();
}

}  // namespace

bool may_have_forms(std::string_view term, uint64_t key) noexcept {
  return word_form_table().may_hold(key) ||
         (!term.empty() && static_cast<unsigned char>(term.front()) >= 0x80);
}

std::vector<std::string> other_forms(std::string_view term, std::string_view text) {
  std::vector<std::string> forms;
  const std::span<const Membership> groups = word_form_table().groups_of(term);
  if (groups.empty()) {
    add_script_forms(term, forms);
    return forms;
  }
  const bool by_spelling = std::any_of(groups.begin(), groups.end(),
                                       [](const Membership& group) { return !group.written.empty(); });
  const std::optional<std::vector<std::string>> written = words_of(term, text, by_spelling);
  for (const Membership& group : groups) {
    if (written && !meant_as(group, *written)) continue;
    for (const std::string_view other : group.others) forms.emplace_back(other);
  }
  std::sort(forms.begin(), forms.end());
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  return forms;
}

}  // namespace scrubjay::text
