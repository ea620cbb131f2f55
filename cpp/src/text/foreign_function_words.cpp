#include "text/foreign_function_words.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "text/characters.hpp"
#include "text/function_words.hpp"
#include "text/porter2.hpp"
#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

// Folded: without case and accents.
constexpr std::array<std::string_view, 7> kLanguages = {
    // German
    "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner und oder aber "
    "wenn "
    "weil dass ob als wie wo wann warum wieso wer wen wem was welche welcher welches welchen welchem wohin "
    "woher "
    "ich du er sie es wir ihr mich mir dich dir ihn ihm ihnen uns euch sich mein meine meinen meinem meiner "
    "dein "
    "deine seine seinen seinem seiner sein ihre ihren ihrem ihrer unser unsere ist sind war waren wird "
    "werden "
    "wurde wurden bin bist hat haben hatte hatten habe kann konnen konnte soll sollen muss mussen musste "
    "darf "
    "will wollen nicht auch nur noch schon sehr mehr so da hier dort dann man mit von vom zu zum zur in im "
    "ins an "
    "am ans auf aus bei beim bis durch fur gegen ohne um unter uber vor nach seit zwischen dieser diese "
    "dieses "
    "diesen diesem jede jeder jedes",
    // French
    "le la les l un une des du de d au aux et ou mais si que qu qui quoi quel quelle quels quelles dont "
    "quand "
    "comment pourquoi combien je j tu il elle on nous vous ils elles me m te t se s moi toi lui leur leurs "
    "mon ma "
    "mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces cela ca est sont etait etaient etre "
    "ete "
    "sera suis es sommes etes ai as a avons avez ont avait avaient avoir eu fait peut peuvent doit ne n pas "
    "plus "
    "y en dans par pour sur sous avec sans chez vers entre avant apres pendant depuis comme tres aussi tout "
    "tous "
    "toute toutes meme",
    // Spanish
    "el la los las lo un una unos unas de del al y e o u pero si que quien quienes cual cuales cuando como "
    "donde "
    "adonde cuanto cuanta cuantos por porque para con sin sobre entre hasta desde en a ante tras durante yo "
    "tu "
    "usted ella nosotros ellos ellas me te se nos le les mi mis tus su sus nuestro nuestra este esta estos "
    "estas ese esa eso esos esas aquel es son era eran fue fueron ser sido estan estaba ha han he hay habia "
    "haber tiene tienen no ni ya muy mas tambien hacia puede pueden debe deben todo toda todos todas",
    // Italian
    "il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle da dal "
    "dalla "
    "dai in nel nello nella nei negli nelle con su sul sulla sui per tra fra e ed o ma se che chi cui quale "
    "quali "
    "quando come dove perche quanto quanta io tu egli lui lei noi voi loro mi ti si ci vi ne mio mia miei "
    "tuo tua "
    "suo sua suoi sue nostro nostra questo questa questi queste quello quella quelli sono era erano essere "
    "stato "
    "stata ha hanno aveva avere ho non piu anche gia molto puo possono deve sia",
    // Portuguese
    "o a os as um uma uns umas de do da dos das em no na nos nas ao aos pelo pela pelos pelas por para com "
    "sem "
    "sobre entre ate desde e ou mas se que quem qual quais quando como onde porque quanto eu tu ele ela eles "
    "elas voce voces me te lhe meu minha meus seu sua seus suas nosso nossa este esta estes estas esse essa "
    "isso "
    "aquele sao era eram foi foram ser sido estao tem tinha ha nao mais muito tambem ja pode podem deve",
    // Dutch
    "de het een en of maar als dat die dit deze wie wat welke wanneer waar waarom hoe ik jij je hij zij ze "
    "wij we "
    "jullie hen hun mij me jou zich mijn jouw zijn haar ons onze is was waren ben bent wordt worden werd "
    "heeft "
    "hebben had kan kunnen moet moeten zal zullen mag wil niet geen ook nog wel al er in op aan van voor met "
    "bij "
    "door naar om over uit tot te tegen zonder onder tussen na",
    // Scandinavian
    "och att og at det som en ett et den de i pa av af for med til till om ar er var vara vaere har hade "
    "havde inte "
    "ikke jag jeg du han hun hon vi ni dem sig seg sin sitt sit sina sine min mitt mit din hans hennes "
    "hendes vad "
    "hvad hva vem hvem vilken hvilken vilket hvilket vilka hvilke nar hur hvordan varfor hvorfor hvor dar "
    "fran fra "
    "eller men kan ska skal skulle blir bliver blev mycket meget over under vid ved efter etter",
};
// Of these, the words that are also English words or names.
constexpr std::string_view kTellNothing =
    "die man war hat bin was will er so an am in on me no do dos as us to es son sin pour plus ton come per "
    "for over "
    "under had men min has ai au ed era sera hay con sur tout dove met wit dit pas mag om dem den sit mit "
    "dig van al "
    "door bent ben com os um uns ate tem sem ha ho he ne ni vi var hans en ja mi ti si sia lui lei io da dai "
    "nos les "
    "est dans aux sans bis ins till also ma mes ou et un is we i a c d e j l m n o s t u y";

// For each term two sets of bits: the languages that have it, and those for which it is distinctive. Bit
// 0 is English.
class LanguageTable {
 public:
  static constexpr size_t kSlots = 4096;
  struct Entry {
    uint64_t key = 0;  // 0: empty
    uint8_t languages = 0, telling = 0;
  };

  LanguageTable() {
    for_each_word(all_function_words(), [&](std::string_view word) { entry(word).languages |= 1u; });
    for (size_t l = 0; l < kLanguages.size(); ++l) {
      for_each_word(kLanguages[l],
                    [&](std::string_view word) { entry(word).languages |= static_cast<uint8_t>(2u << l); });
    }
    for (Entry& entry : entries_)
      entry.telling = (entry.languages & 1u) == 0 || entry.languages == 1u ? entry.languages : 0;
    for_each_word(kTellNothing, [&](std::string_view word) { entry(word).telling = 0; });
  }
  [[nodiscard]] const Entry* find(uint64_t key) const noexcept {
    for (size_t slot = slot_of(key);; slot = (slot + 1) % kSlots) {
      if (entries_[slot].key == key) return &entries_[slot];
      if (entries_[slot].key == 0) return nullptr;
    }
  }

 private:
  [[nodiscard]] static size_t slot_of(uint64_t key) noexcept { return (key * 0x9e3779b97f4a7c15ull) >> 52; }
  template <class Visit>
  static void for_each_word(std::string_view words, Visit visit) {
    for (size_t from = 0; from < words.size();) {
      const size_t end = std::min(words.find(' ', from), words.size());
      visit(words.substr(from, end - from));
      from = end + 1;
    }
  }
  Entry& entry(std::string_view word) {
    const uint64_t key = term_key(porter2(word));
    size_t slot = slot_of(key);
    while (entries_[slot].key != 0 && entries_[slot].key != key) slot = (slot + 1) % kSlots;
    entries_[slot].key = key;
    return entries_[slot];
  }

  std::array<Entry, kSlots> entries_{};
};

const LanguageTable& language_table() {
  static const auto* const table = new LanguageTable;  // never destroyed: threads may outlive statics
  return *table;
}

bool in_name(char c) noexcept {
  return (byte_class(c) & (kAlnum | kBeyondAscii)) != 0 || c == '_' || c == '\'';
}

}  // namespace

void ForeignFunctionWords::start() noexcept {
  std::fill(std::begin(n_telling_), std::end(n_telling_), uint8_t{0});
}

void ForeignFunctionWords::add(uint64_t term) noexcept {
  const LanguageTable::Entry* const entry = language_table().find(term);
  if (!entry || entry->telling == 0) return;
  for (size_t l = 0; l < kMostLanguages; ++l) {
    if ((entry->telling >> l & 1u) != 0 && n_telling_[l] != 0xff) ++n_telling_[l];
  }
}

bool ForeignFunctionWords::any(std::string_view utf8) {
  languages_ = 0;
  const uint8_t most = *std::max_element(n_telling_ + 1, n_telling_ + kMostLanguages);
  if (most < 2 || most <= n_telling_[0]) return false;
  for (size_t l = 1; l < kMostLanguages; ++l) {
    if (n_telling_[l] == most) languages_ |= 1u << l;
  }
  names_.clear();
  if (std::none_of(utf8.begin(), utf8.end(), is_lower)) return true;
  std::string small;
  for (size_t at = 0; at < utf8.size();) {
    const size_t from = at;
    while (at < utf8.size() && in_name(utf8[at])) ++at;
    const std::string_view word = utf8.substr(from, at - from);
    if (word.size() > 1 && word.size() <= kMaxPackedBytes &&
        std::all_of(word.begin(), word.end(), is_upper)) {
      small.assign(word);
      for (char& c : small) c = to_lower(c);
      names_.push_back(term_key(porter2(small)));
    }
    if (at == from) ++at;
  }
  return true;
}

bool ForeignFunctionWords::contains(uint64_t term) const noexcept {
  const LanguageTable::Entry* const entry = language_table().find(term);
  return entry && (entry->languages & languages_) != 0 &&
         std::find(names_.begin(), names_.end(), term) == names_.end();
}

}  // namespace scrubjay::text
