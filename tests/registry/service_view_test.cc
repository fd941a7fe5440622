#include "marpc/registry/service_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/registry/registry_fixture.h"

namespace marpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Source = ServiceSnapshot::Source;

constexpr char kA[] = "127.0.0.1:1";
constexpr char kB[] = "127.0.0.1:2";
constexpr char kC[] = "127.0.0.1:3";

// The owner of an endpoint is called as the endpoint is.
Instance Owned(const std::string& endpoint) {
  Instance instance = MakeInstance(endpoint);
  instance.owner = endpoint;
  return instance;
}

Reading Read(const std::vector<std::string>& endpoints, std::set<std::string> left = {}) {
  Reading reading;
  for (const std::string& endpoint : endpoints) reading.instances.push_back(Owned(endpoint));
  reading.left = std::move(left);
  return reading;
}

class ServiceViewTest : public testing::Test {
 protected:
  static ServiceView MakeView(std::optional<StoredList> stored = std::nullopt) {
    return ServiceView(kService, {absl::Minutes(10), absl::Seconds(10)}, std::move(stored));
  }
  static StoredList Stored(const std::vector<std::string>& endpoints, absl::Duration age) {
    return StoredList{Read(endpoints).instances, {}, age};
  }
  MonotonicTime now() const { return clock_.Now(); }

  SimulatedClock clock_{MonotonicTime::FromNanos(int64_t{1} << 60)};
};

TEST_F(ServiceViewTest, ListsAreSortedAndPublishedWhenTheyChange) {
  ServiceView view = MakeView();
  auto first = view.OnReading(Read({kB, kA}), now());
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(EndpointsOf(*first), ElementsAre(kA, kB));
  EXPECT_EQ(view.OnReading(Read({kA, kB}), now()), nullptr);
  Reading marked = Read({kA, kB});
  marked.gray_marks.insert(*Endpoint::Parse(kA));
  EXPECT_NE(view.OnReading(std::move(marked), now()), nullptr);
}

TEST_F(ServiceViewTest, AShorterListIsBelieved) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  auto shorter = view.OnReading(Read({kB}), now());
  EXPECT_THAT(EndpointsOf(*shorter), ElementsAre(kB));
  EXPECT_EQ(shorter->source, Source::kRegistry);
}

TEST_F(ServiceViewTest, AnEmptyListIsHeldBackAndAgesOut) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  auto kept = view.OnReading(Read({}), now());
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre(kA, kB));
  EXPECT_EQ(kept->source, Source::kKept);
  EXPECT_EQ(view.next_change(), now() + absl::Minutes(10));
  clock_.Advance(absl::Minutes(9));
  EXPECT_EQ(view.OnReading(Read({}), now()), nullptr);
  EXPECT_EQ(view.OnTime(now()), nullptr);
  clock_.Advance(absl::Minutes(1));
  auto empty = view.OnTime(now());
  ASSERT_NE(empty, nullptr);
  EXPECT_THAT(empty->instances, IsEmpty());
  EXPECT_EQ(empty->source, Source::kRegistry);
}

TEST_F(ServiceViewTest, AnEmptyListOfThoseThatLeftIsBelieved) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  auto empty = view.OnReading(Read({}, {kA, kB}), now());
  EXPECT_THAT(empty->instances, IsEmpty());
  EXPECT_EQ(empty->source, Source::kRegistry);
}

TEST_F(ServiceViewTest, WhoLeftIsNotHeldBackWithTheOthers) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  auto kept = view.OnReading(Read({}, {kA}), now());
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre(kB));
  auto empty = view.OnReading(Read({}, {kA, kB}), now());
  EXPECT_THAT(empty->instances, IsEmpty());
}

TEST_F(ServiceViewTest, ThoseNotBackYetAreHeldWhileTheOthersReturn) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB, kC}), now());
  view.OnReading(Read({}), now());
  EXPECT_EQ(view.OnReading(Read({kA}), now()), nullptr);  // the same list, still held in part
  EXPECT_EQ(view.next_change(), now() + absl::Seconds(10));
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(view.OnReading(Read({kA, kB}), now()), nullptr);
  clock_.Advance(absl::Seconds(5));
  auto regrouped = view.OnTime(now());
  ASSERT_NE(regrouped, nullptr);
  EXPECT_THAT(EndpointsOf(*regrouped), ElementsAre(kA, kB));
  EXPECT_EQ(regrouped->source, Source::kRegistry);
}

TEST_F(ServiceViewTest, AfterAnOutageAShorterListIsNotBelievedAtOnce) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  view.OnLost(now());
  auto kept = view.OnReading(Read({kC}), now());
  EXPECT_THAT(EndpointsOf(*kept), ElementsAre(kA, kB, kC));
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(EndpointsOf(*view.OnTime(now())), ElementsAre(kC));
}

// Providers whose sessions ended in the outage: the old entries are there at first, then gone, then
// there again.
TEST_F(ServiceViewTest, AfterAnOutageEntriesMayBeReplacedOneByOne) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA, kB}), now());
  view.OnLost(now());
  clock_.Advance(absl::Minutes(1));
  view.OnReading(Read({kA, kB}), now());
  clock_.Advance(absl::Seconds(9));
  auto replaced = view.OnReading(Read({kC}), now());
  ASSERT_NE(replaced, nullptr);
  EXPECT_THAT(EndpointsOf(*replaced), ElementsAre(kA, kB, kC));
  replaced = view.OnReading(Read({kA, kC}, /*left=*/{kB}), now());
  ASSERT_NE(replaced, nullptr);
  EXPECT_THAT(EndpointsOf(*replaced), ElementsAre(kA, kC));
  EXPECT_EQ(replaced->source, Source::kRegistry);
  // When all has settled a shorter list is believed again.
  clock_.Advance(absl::Seconds(1));
  auto shorter = view.OnReading(Read({kC}), now());
  ASSERT_NE(shorter, nullptr);
  EXPECT_THAT(EndpointsOf(*shorter), ElementsAre(kC));
}

TEST_F(ServiceViewTest, ARegistryThatFlickersKeepsNoEntryForEver) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA}), now());
  const MonotonicTime limit = now() + absl::Minutes(10);
  view.OnReading(Read({}), now());
  while (now() < limit) {
    clock_.Advance(absl::Seconds(30));
    view.OnReading(Read({}), now());
    view.OnTime(now());
  }
  EXPECT_THAT(view.current()->instances, IsEmpty());
}

TEST_F(ServiceViewTest, AnOutageKeepsTheListHoweverLong) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA}), now());
  auto kept = view.OnLost(now());
  EXPECT_EQ(kept->source, Source::kKept);
  const MonotonicTime confirmed = kept->confirmed_at;
  clock_.Advance(absl::Hours(100));
  EXPECT_EQ(view.OnTime(now()), nullptr);
  EXPECT_EQ(view.OnLost(now()), nullptr);
  EXPECT_THAT(EndpointsOf(*view.current()), ElementsAre(kA));
  EXPECT_EQ(view.current()->confirmed_at, confirmed);
  auto back = view.OnReading(Read({kA}), now());
  EXPECT_EQ(back->source, Source::kRegistry);
  EXPECT_EQ(back->confirmed_at, now());
}

TEST_F(ServiceViewTest, AListHoldsUntilTheRegistryIsLost) {
  ServiceView view = MakeView();
  view.OnReading(Read({kA}), now());
  clock_.Advance(absl::Hours(5));  // nothing changes, and the registry would say if it did
  const auto kept = view.OnLost(now());
  EXPECT_EQ(kept->confirmed_at, now());
  const MonotonicTime lost_at = now();
  clock_.Advance(absl::Hours(1));
  view.OnLost(now());  // no second loss
  EXPECT_EQ(view.current()->confirmed_at, lost_at);
}

TEST_F(ServiceViewTest, TheStoredListIsUsedWhereNoAnswerComes) {
  ServiceView view = MakeView(Stored({kB, kA}, absl::Hours(5)));
  EXPECT_EQ(view.current(), nullptr);
  auto cold = view.OnNoAnswer(now());
  EXPECT_EQ(cold->source, Source::kDisk);
  EXPECT_THAT(EndpointsOf(*cold), ElementsAre(kA, kB));
  EXPECT_EQ(cold->confirmed_at, now() - absl::Hours(5));
  EXPECT_EQ(view.OnLost(now()), nullptr);
  // The registry's own list, once there is one, counts alone.
  auto fresh = view.OnReading(Read({kC}), now());
  EXPECT_THAT(EndpointsOf(*fresh), ElementsAre(kC));
  EXPECT_EQ(fresh->source, Source::kRegistry);
}

TEST_F(ServiceViewTest, NothingIsSaidWhereNothingIsStored) {
  ServiceView view = MakeView();
  EXPECT_EQ(view.OnNoAnswer(now()), nullptr);
  EXPECT_EQ(view.OnLost(now()), nullptr);
}

TEST_F(ServiceViewTest, AFreshStoredListIsHeldAgainstAnEmptyAnswer) {
  ServiceView fresh = MakeView(Stored({kA}, absl::Minutes(1)));
  EXPECT_THAT(EndpointsOf(*fresh.OnReading(Read({}), now())), ElementsAre(kA));
  ServiceView left = MakeView(Stored({kA}, absl::Minutes(1)));
  EXPECT_THAT(left.OnReading(Read({}, {kA}), now())->instances, IsEmpty());
  ServiceView old = MakeView(Stored({kA}, absl::Minutes(11)));
  EXPECT_THAT(old.OnReading(Read({}), now())->instances, IsEmpty());
}

TEST_F(ServiceViewTest, DirectivesComeWithTheListAndStayWhileTheRegistryIsLost) {
  ServiceView view = MakeView();
  Reading told = Read({kA});
  told.directives = {{"level", "degraded"}};
  EXPECT_EQ(view.OnReading(told, now())->directives, told.directives);
  EXPECT_EQ(view.OnReading(told, now()), nullptr);
  EXPECT_EQ(view.OnLost(now())->directives, told.directives);
  // Taken back meanwhile.
  EXPECT_THAT(view.OnReading(Read({kA}), now())->directives, IsEmpty());
}

TEST_F(ServiceViewTest, DirectivesThatVanishWithAllEntriesAreHeldAsLongAsThose) {
  ServiceView view = MakeView();
  Reading told = Read({kA, kB});
  told.directives = {{"level", "degraded"}};
  view.OnReading(told, now());
  EXPECT_EQ(view.OnReading(Read({}), now())->directives, told.directives);
  view.OnReading(Read({}), now());
  EXPECT_EQ(view.current()->directives, told.directives);
  // One is back, and the list is not believed yet.
  view.OnReading(Read({kA}), now());
  EXPECT_EQ(view.current()->directives, told.directives);
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(view.OnTime(now())->directives, IsEmpty());
}

TEST_F(ServiceViewTest, ANewWordReplacesDirectivesThatAreHeldAndTheEndOfAllEntriesIsBelieved) {
  ServiceView view = MakeView();
  Reading told = Read({kA, kB});
  told.directives = {{"level", "degraded"}};
  view.OnReading(told, now());
  view.OnReading(Read({}), now());
  Reading other = Read({kA});
  other.directives = {{"level", "normal"}};
  EXPECT_EQ(view.OnReading(other, now())->directives, other.directives);
  // That is taken back while entries are there, which is a word, too.
  EXPECT_THAT(view.OnReading(Read({kA}), now())->directives, IsEmpty());
  view.OnReading(told, now());
  EXPECT_THAT(view.OnReading(Read({}, {kA, kB}), now())->directives, IsEmpty());
}

TEST_F(ServiceViewTest, DirectivesOfTheStoredListHoldUntilTheRegistryAnswers) {
  StoredList stored = Stored({kA}, absl::Minutes(1));
  stored.directives = {{"level", "core-only"}};
  ServiceView view = MakeView(stored);
  EXPECT_EQ(view.OnNoAnswer(now())->directives, stored.directives);
  EXPECT_THAT(view.OnReading(Read({kA}), now())->directives, IsEmpty());
}

TEST_F(ServiceViewTest, WithoutProtectionNothingIsHeld) {
  ServiceView view(kService, {absl::ZeroDuration(), absl::ZeroDuration()}, std::nullopt);
  view.OnReading(Read({kA, kB}), now());
  auto empty = view.OnReading(Read({}), now());
  EXPECT_THAT(EndpointsOf(*empty), IsEmpty());
  EXPECT_EQ(empty->source, Source::kRegistry);
  view.OnReading(Read({kA, kB}), now());
  view.OnLost(now());
  EXPECT_THAT(EndpointsOf(*view.OnReading(Read({kB}), now())), ElementsAre(kB));
  EXPECT_TRUE(view.next_change().is_infinite());
}

}  // namespace
}  // namespace marpc
