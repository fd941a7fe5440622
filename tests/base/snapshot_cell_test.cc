#include "marpc/base/snapshot_cell.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace marpc {
namespace {

TEST(SnapshotCellTest, GivesTheValueLastStored) {
  SnapshotCell<std::string> cell(std::make_shared<const std::string>("one"));
  EXPECT_EQ(*cell.Load(), "one");
  EXPECT_EQ(*cell.Load(), "one");
  cell.Store(std::make_shared<const std::string>("two"));
  EXPECT_EQ(*cell.Load(), "two");
}

TEST(SnapshotCellTest, HoldsNullToo) {
  SnapshotCell<int> cell(nullptr);
  EXPECT_EQ(cell.Load(), nullptr);
  cell.Store(std::make_shared<const int>(1));
  cell.Store(nullptr);
  EXPECT_EQ(cell.Load(), nullptr);
}

TEST(SnapshotCellTest, AValueLivesAsLongAsAReaderHoldsIt) {
  SnapshotCell<std::string> cell(std::make_shared<const std::string>("one"));
  const std::shared_ptr<const std::string> held = cell.Load();
  cell.Store(std::make_shared<const std::string>("two"));
  EXPECT_EQ(*cell.Load(), "two");
  EXPECT_EQ(*held, "one");
}

TEST(SnapshotCellTest, ALoadTouchesNoCountThatAnotherThreadTouches) {
  const auto value = std::make_shared<const int>(1);
  SnapshotCell<int> cell(value);
  cell.Load();
  const long counted = value.use_count();
  std::vector<std::shared_ptr<const int>> copies;
  for (int i = 0; i < 100; ++i) copies.push_back(cell.Load());
  EXPECT_EQ(value.use_count(), counted);
}

TEST(SnapshotCellTest, CellsThatComeAndGoDoNotMixUp) {
  for (int i = 0; i < 100; ++i) {
    SnapshotCell<int> one(std::make_shared<const int>(i));
    SnapshotCell<int> other(std::make_shared<const int>(-i));
    EXPECT_EQ(*one.Load(), i);
    EXPECT_EQ(*other.Load(), -i);
  }
}

TEST(SnapshotCellTest, AValueWhoseCellIsGoneIsLetGoWhenTheThreadReadsAnother) {
  const auto value = std::make_shared<const int>(1);
  {
    SnapshotCell<int> cell(value);
    cell.Load();
  }
  SnapshotCell<int> other(std::make_shared<const int>(2));
  other.Load();
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SnapshotCellTest, AThreadsEndLetsItsValuesGo) {
  const auto value = std::make_shared<const int>(1);
  SnapshotCell<int> cell(value);
  const long before = value.use_count();
  std::thread([&] { cell.Load(); }).join();
  EXPECT_EQ(value.use_count(), before);
}

// A value whose destructor reads the very cell it is let go of.
struct ReadsWhenDestroyed {
  const SnapshotCell<ReadsWhenDestroyed>* cell;
  int* reads;
  ~ReadsWhenDestroyed() {
    if (cell != nullptr && cell->Load() != nullptr) ++*reads;
  }
};

TEST(SnapshotCellTest, AValuesDestructorMayReadTheCell) {
  int reads = 0;
  SnapshotCell<ReadsWhenDestroyed> cell(nullptr);
  cell.Store(std::make_shared<const ReadsWhenDestroyed>(ReadsWhenDestroyed{nullptr, &reads}));
  for (int i = 0; i < 3; ++i) {
    auto value = std::make_shared<ReadsWhenDestroyed>(ReadsWhenDestroyed{nullptr, &reads});
    value->cell = &cell;
    cell.Store(std::move(value));
    cell.Load();
  }
  EXPECT_EQ(reads, 2);
  cell.Store(std::make_shared<const ReadsWhenDestroyed>(ReadsWhenDestroyed{nullptr, &reads}));
  cell.Load();
  EXPECT_EQ(reads, 3);
}

TEST(SnapshotCellTest, ReadersSeeWholeValuesInOrderWhileAWriterStores) {
  struct Pair {
    int a;
    int b;
  };
  SnapshotCell<Pair> cell(std::make_shared<const Pair>(Pair{0, 0}));
  constexpr int kLast = 5000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      int last = 0;
      while (last < kLast) {
        const std::shared_ptr<const Pair> pair = cell.Load();
        if (pair->a != pair->b || pair->a < last) wrong.fetch_add(1);
        last = pair->a;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) cell.Store(std::make_shared<const Pair>(Pair{i, i}));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Values of cells that are gone are let go of when the thread next reads one; their destructors may
// use cells again, so many that the thread's cache grows under the one that sweeps it.
TEST(SnapshotCellTest, ASweptValueMayReadNewCellsInItsDestructor) {
  struct OpensCells {
    std::vector<std::unique_ptr<SnapshotCell<int>>>* opened;
    ~OpensCells() {
      if (opened == nullptr) return;
      for (int i = 0; i < 300; ++i) {
        opened->push_back(std::make_unique<SnapshotCell<int>>(std::make_shared<const int>(i)));
        EXPECT_EQ(*opened->back()->Load(), i);
      }
    }
  };
  std::vector<std::unique_ptr<SnapshotCell<int>>> opened;
  SnapshotCell<int> next(std::make_shared<const int>(-1));
  std::vector<std::unique_ptr<SnapshotCell<OpensCells>>> gone;
  for (int i = 0; i < 3; ++i) {
    gone.push_back(std::make_unique<SnapshotCell<OpensCells>>(
        std::shared_ptr<const OpensCells>(new OpensCells{&opened})));
    gone.back()->Load();
  }
  gone.clear();
  EXPECT_EQ(opened.size(), 0u);
  EXPECT_EQ(*next.Load(), -1);
  EXPECT_EQ(opened.size(), 900u);
  EXPECT_EQ(*opened.front()->Load(), 0);
}

}  // namespace
}  // namespace marpc
