#include "text/word_forms.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/porter2.hpp"
#include "text/script_forms.hpp"
#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

// The words of a group are forms of one another.
constexpr std::string_view kGroups =
    "knife knives; wife wives; leaf leaves; loaf loaves; half halves; shelf shelves; thief thieves; "
    "wolf wolves; calf calves; scarf scarves; elf elves; hoof hooves; mouse mice; louse lice; "
    "goose geese; tooth teeth; foot feet; man men; woman women; child children; ox oxen; penny pence; "
    "analysis analyses; crisis crises; hypothesis hypotheses; axis axes; diagnosis diagnoses; "
    "oasis oases; parenthesis parentheses; synthesis syntheses; emphasis emphases; ellipsis ellipses; "
    "neurosis neuroses; metamorphosis metamorphoses; criterion criteria; phenomenon phenomena; "
    "matrix matrices; vortex vortices; appendix appendices; bacterium bacteria; curriculum curricula; "
    "memorandum memoranda; stimulus stimuli; cactus cacti; fungus fungi; nucleus nuclei; "
    "alumnus alumni; radius radii; locus loci; colour color; favour favor; favourite favorite; "
    "honour honor; labour labor; neighbour neighbor; neighbourhood neighborhood; behaviour behavior; "
    "humour humor; rumour rumor; harbour harbor; flavour flavor; armour armor; odour odor; "
    "vapour vapor; vigour vigor; parlour parlor; savour savor; tumour tumor; glamour glamor; "
    "endeavour endeavor; candour candor; rigour rigor; splendour splendor; centre center; "
    "theatre theater; metre meter; litre liter; fibre fiber; calibre caliber; lustre luster; "
    "sabre saber; spectre specter; tyre tire; grey gray; plough plow; programme program; "
    "catalogue catalog; dialogue dialog; analogue analog; defence defense; offence offense; "
    "pretence pretense; jewellery jewelry; aluminium aluminum; aeroplane airplane; moustache mustache; "
    "pyjamas pajamas; sceptical skeptical; sulphur sulfur; manoeuvre maneuver; anaesthesia anesthesia; "
    "anaemia anemia; paediatric pediatric; orthopaedic orthopedic; haemoglobin hemoglobin; "
    "leukaemia leukemia; diarrhoea diarrhea; oestrogen estrogen; foetus fetus; "
    "encyclopaedia encyclopedia; fuelled fueled; woollen woolen; skilful skillful; mould mold; "
    "smoulder smolder; cosy cozy; mum mom; "
    // Irregular verbs, without those one of whose forms is often another word: run, rose, bound, wound, ground, bore, lay.
    "go went gone; come came; see saw seen; give gave given; take took taken; get got gotten; make made; "
    "know knew known; think thought; say said; tell told; buy bought; bring brought; sell sold; send "
    "sent; spend spent; build built; lose lost; sleep slept; sweep swept; weep wept; keep kept; deal "
    "dealt; dream dreamt; learn learnt; burn burnt; mean meant; feel felt; leave left; meet met; feed "
    "fed; lead led; breed bred; flee fled; speed sped; hear heard; hold held; stand stood; understand "
    "understood; sit sat; win won; hang hung; stick stuck; strike struck; dig dug; swing swung; spin "
    "spun; shine shone; shoot shot; light lit; slide slid; hide hid hidden; bite bit bitten; begin began "
    "begun; drink drank drunk; sing sang sung; swim swam swum; ring rang rung; sink sank sunk; shrink "
    "shrank shrunk; drive drove driven; write wrote written; ride rode ridden; break broke "
    "broken; choose chose chosen; freeze froze frozen; steal stole stolen; speak spoke spoken; wake woke "
    "woken; wear wore worn; tear tore torn; swear swore sworn; fly flew flown; grow grew grown; throw "
    "threw thrown; draw drew drawn; blow blew blown; eat ate eaten; fall fell fallen; pay paid; catch "
    "caught; teach taught; fight fought; seek sought; become became; forget forgot forgotten; forgive "
    "forgave forgiven; shake shook shaken; mistake mistook mistaken; find found; lend lent; bend bent; "
    "weave wove woven; creep crept; kneel knelt; leap leapt; cling clung; sting stung; sew sewn; show "
    "shown; prove proven; spill spilt; spoil spoilt; spell spelt; smell smelt; overcome overcame; undergo"
    " underwent undergone; withdraw withdrew withdrawn; undertake undertook undertaken; overhear "
    "overheard; rebuild rebuilt; repay repaid; rewrite rewrote rewritten; resell resold; retell retold; "
    "rethink rethought; outgrow outgrew outgrown; babysit babysat; foresee foresaw foreseen; oversee "
    "oversaw overseen; arise arose arisen; awake awoke awoken; beat beaten; swell swollen; tread trod "
    "trodden; strive strove striven; "
    // German plurals in -er, of words that English has not, but for Kind.
    "amt amter; bild bilder; blatt blatter; brett bretter; buch bucher; dach dacher; denkmal denkmaler; "
    "dorf dorfer; ei eier; fach facher; fass fasser; feld felder; gehalt gehalter; "
    "geschlecht geschlechter; gesicht gesichter; glas glaser; glied glieder; gott gotter; haus hauser; "
    "huhn huhner; irrtum irrtumer; kalb kalber; kind kinder; kleid kleider; korn korner; "
    "krankenhaus krankenhauser; kraut krauter; lamm lammer; licht lichter; lied lieder; loch locher; "
    "mitglied mitglieder; rathaus rathauser; reichtum reichtumer; rind rinder; schloss schlosser; "
    "schwert schwerter; strauch straucher; tuch tucher; volk volker; wald walder; wort worter; "
    "worterbuch worterbucher; wurm wurmer";

class WordFormTable {
 public:
  WordFormTable() {
    mark("cannot");  // what it is depends on the scope (engine/spelling.hpp)
    for (size_t from = 0; from < kGroups.size();) {
      const size_t end = std::min(kGroups.find(';', from), kGroups.size());
      add(kGroups.substr(from, end - from));
      from = end + 1;
    }
  }

  [[nodiscard]] bool may_hold(uint64_t key) const noexcept {
    const size_t bit = bit_of(key);
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0;
  }
  [[nodiscard]] std::span<const std::string> others(std::string_view term) const noexcept {
    const auto found = others_.find(term);
    return found == others_.end() ? std::span<const std::string>() : found->second;
  }

 private:
  static constexpr size_t kBits = 32768;

  void add(std::string_view group) {
    std::vector<std::string> terms;
    for (size_t from = 0; from < group.size();) {
      const size_t end = std::min(group.find(' ', from), group.size());
      if (end != from) terms.push_back(porter2(group.substr(from, end - from)));
      from = end + 1;
    }
    for (const std::string& term : terms) {
      mark(term);
      std::vector<std::string>& others = others_[term];
      for (const std::string& other : terms)
        if (other != term) others.insert(std::upper_bound(others.begin(), others.end(), other), other);
    }
  }
  void mark(std::string_view term) noexcept {
    const size_t bit = bit_of(term_key(term));
    bits_[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  [[nodiscard]] static size_t bit_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 49; }

  std::array<uint64_t, kBits / 64> bits_{};
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view term) const noexcept { return std::hash<std::string_view>()(term); }
  };
  std::unordered_map<std::string, std::vector<std::string>, Hash, std::equal_to<>> others_;
};

const WordFormTable& word_form_table() {
  static const auto* const forms = new WordFormTable;  // never destroyed: threads may outlive statics
  return *forms;
}

}  // namespace

bool may_have_forms(std::string_view term, uint64_t key) noexcept {
  return word_form_table().may_hold(key) ||
         (!term.empty() && static_cast<unsigned char>(term.front()) >= 0x80);
}

std::vector<std::string> other_forms(std::string_view term) {
  const std::span<const std::string> known = word_form_table().others(term);
  std::vector<std::string> forms(known.begin(), known.end());
  if (forms.empty()) add_script_forms(term, forms);
  return forms;
}

}  // namespace scrubjay::text
