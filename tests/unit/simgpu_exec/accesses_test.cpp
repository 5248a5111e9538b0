// The record of what a launch touches: exactly the bytes that the instructions name, no byte more.
#include "simgpu/exec/access_record.hpp"

#include "harness.hpp"

namespace refrain::simgpu {

inline void PrintTo(const ByteRange& range, std::ostream* out) {
  *out << '[' << range.begin << ',' << range.end << ')';
}

namespace {

using Ranges = std::vector<ByteRange>;

TEST(byte_set, joins_what_touches_across_words_and_pages) {
  ByteSet set;
  EXPECT_TRUE(set.empty());
  set.add(4090, 4);
  set.add(4094, 4);
  set.add(64, 64);
  set.add(129, 63);
  set.add(3 * 4096, 2 * 4096);
  EXPECT_EQ(set.ranges(), (Ranges{{64, 128}, {129, 192}, {4090, 4098}, {3 * 4096, 5 * 4096}}));
  set.add(128, 1);
  EXPECT_EQ(set.ranges(), (Ranges{{64, 192}, {4090, 4098}, {3 * 4096, 5 * 4096}}));
}

TEST(byte_set, adds_and_removes_other_sets) {
  ByteSet set, other;
  set.add(100, 10);
  other.add(105, 10);
  other.add(90000, 1);
  set.add(other);
  EXPECT_EQ(set.ranges(), (Ranges{{100, 115}, {90000, 90001}}));
  set.remove(other);
  EXPECT_EQ(set.ranges(), (Ranges{{100, 105}}));
}

TEST(byte_set, holds_many_far_apart_pages_at_once) {
  ByteSet set;
  Ranges expected;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 300; ++i) set.add(i * 16 * 4096 + static_cast<std::uint64_t>(round) * 8, 4);
  }
  for (std::uint64_t i = 0; i < 300; ++i) {
    expected.push_back({i * 16 * 4096, i * 16 * 4096 + 4});
    expected.push_back({i * 16 * 4096 + 8, i * 16 * 4096 + 12});
  }
  EXPECT_EQ(set.ranges(), expected);
}

// p and q are arrays of 64 KiB; %rd1 and %rd2 their addresses, %r1 the thread's number in the launch, %rd3
// the same, %f1 and %r9 something to store.
class Accesses : public testing::Test {
 protected:
  void run(const std::string& body, const LaunchShape& shape = shape_of(1, 32), unsigned workers = 1) {
    ExecutionSettings settings;
    settings.workers = workers;
    device_ = std::make_unique<TestDevice>(
        kPtxHead +
            ".target sm_80\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n"
            ".extern .func free (.param .b64 p);\n"
            ".const .align 4 .b32 table[4] = {1, 2, 3, 4};\n.global .align 4 .u32 variable;\n"
            ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
            ".reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p<9>; .reg .b16 %h<9>;\n"
            ".shared .align 16 .b8 tile[4096]; .local .align 16 .b8 own[64];\n"
            "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; "
            "mov.u32 %r4, %tid.x; mad.lo.u32 %r1, %r2, %r3, %r4; cvt.u64.u32 %rd3, %r1; mov.f32 %f1, "
            "0f3F800000; mov.u32 %r9, 1;\n" +
            body + "\nret; }\n",
        settings);
    p = device_->upload(std::vector<std::uint8_t>(kBytes));
    q = device_->upload(std::vector<std::uint8_t>(kBytes));
    record = std::make_unique<AccessRecord>();
    device_->accesses = record.get();
    device_->launch("k", shape, p, q);
  }
  static Ranges at(DeviceAddress base, const Ranges& offsets) {
    Ranges out;
    for (const ByteRange& range : offsets) out.push_back({base + range.begin, base + range.end});
    return out;
  }
  // count pieces of so many bytes, stride apart.
  static Ranges strided(DeviceAddress base, std::uint64_t count, std::uint64_t stride, std::uint64_t bytes) {
    Ranges out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back({base + i * stride, base + i * stride + bytes});
    return out;
  }
  DeviceAddress variable(const char* name) const { return device_->module().find_global(name)->address; }
  void expect(const Ranges& reads, const Ranges& writes) {
    EXPECT_EQ(record->reads.ranges(), reads);
    EXPECT_EQ(record->writes.ranges(), writes);
  }

  static constexpr std::size_t kBytes = 64 << 10;
  DeviceAddress p = 0, q = 0;
  std::unique_ptr<AccessRecord> record;

 private:
  std::unique_ptr<TestDevice> device_;
};

TEST_F(Accesses, of_neighbours_are_one_range) {
  run("shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;"
      "ld.global.u32 %r5, [%rd5+8]; st.global.u32 [%rd6], %r5;",
      shape_of(3, 96));
  expect(at(p, {{8, 8 + 288 * 4}}), at(q, {{0, 288 * 4}}));
  EXPECT_TRUE(record->updates.empty());
  EXPECT_TRUE(record->heap.empty());
  EXPECT_FALSE(record->printed);
}

TEST_F(Accesses, with_a_stride_leave_gaps) {
  run("mad.lo.u64 %rd4, %rd3, 24, %rd1; mad.lo.u64 %rd5, %rd3, 3, %rd2;"
      "ld.global.nc.f64 %rd6, [%rd4]; st.global.u8 [%rd5], %r9;",
      shape_of(2, 40));
  expect(strided(p, 80, 24, 8), strided(q, 80, 3, 1));
}

TEST_F(Accesses, of_a_plane_are_its_rows) {
  // 8 x 4 threads in rows of 100 bytes.
  run("mov.u32 %r5, %tid.y; mad.lo.u32 %r6, %r5, 100, 0; mov.u32 %r7, %tid.x; shl.b32 %r7, %r7, 2;"
      "add.u32 %r6, %r6, %r7; cvt.u64.u32 %rd4, %r6; add.u64 %rd5, %rd1, %rd4; ld.global.f32 %f2, [%rd5];",
      {{1, 1, 1}, {8, 4, 1}});
  expect(strided(p, 4, 100, 32), {});
}

TEST_F(Accesses, of_vectors_have_all_elements) {
  run("shl.b64 %rd4, %rd3, 5; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;"
      "ld.global.v4.f32 {%f2, _, _, %f3}, [%rd5]; st.global.v2.f32 [%rd6], {%f1, %f1};");
  expect(strided(p, 32, 32, 16), strided(q, 32, 32, 8));
}

TEST_F(Accesses, of_lanes_that_take_no_part_are_not_there) {
  run("shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;"
      "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1; @%p1 st.global.u32 [%rd5], %r9;"
      "setp.ge.u32 %p2, %r1, 70; @%p2 bra end; ld.global.u32 %r6, [%rd6]; end:",
      shape_of(2, 64));
  expect(at(q, {{0, 70 * 4}}), strided(p + 4, 64, 8, 4));
}

TEST_F(Accesses, of_nobody_are_none) {
  run("setp.eq.u32 %p1, %r1, 100; @%p1 st.global.u32 [%rd1], %r9;");
  expect({}, {});
}

TEST_F(Accesses, of_all_to_one_word_and_backwards) {
  run("ld.global.u32 %r5, [%rd1+4]; neg.s64 %rd4, %rd3; shl.b64 %rd4, %rd4, 2; add.s64 %rd5, %rd2, %rd4;"
      "st.global.u32 [%rd5+4000], %r5;");
  expect(at(p, {{4, 8}}), at(q, {{4004 - 128, 4004}}));
}

TEST_F(Accesses, of_atomics_are_read_and_written) {
  run("shl.b64 %rd4, %rd3, 3; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;"
      "atom.global.add.u32 %r5, [%rd5], 1; red.global.add.f32 [%rd6], %f1; atom.global.cas.b32 %r5, "
      "[%rd1+260], "
      "0, 5;",
      shape_of(1, 32));
  Ranges integers = strided(p, 32, 8, 4);
  integers.push_back({p + 260, p + 264});
  Ranges floats = strided(q, 32, 8, 4), all = integers;
  all.insert(all.end(), floats.begin(), floats.end());
  expect(all, all);
  EXPECT_EQ(record->updates.ranges(), integers);
  EXPECT_EQ(record->float_updates.ranges(), floats);
}

TEST_F(Accesses, of_float_atomics_of_every_width_are_told_apart) {
  run("red.global.add.f64 [%rd1], %rd3; red.global.add.noftz.f16x2 [%rd1+8], %r9; atom.global.add.noftz.f16 "
      "%h1, [%rd1+12], %h2; atom.global.exch.b32 %r5, [%rd2], 3;");
  EXPECT_EQ(record->float_updates.ranges(), at(p, {{0, 14}}));
  EXPECT_EQ(record->updates.ranges(), at(q, {{0, 4}}));
}

TEST_F(Accesses, of_asynchronous_copies_are_reads_of_what_is_copied) {
  run("shl.b64 %rd4, %rd3, 5; add.s64 %rd5, %rd1, %rd4; mov.u32 %r5, tile; shl.b32 %r6, %r1, 4; add.u32 %r5, "
      "%r5, %r6; cp.async.cg.shared.global [%r5], [%rd5], 16;"
      "mov.u32 %r7, 3; add.s64 %rd6, %rd2, %rd4; cp.async.ca.shared.global [%r5], [%rd6], 8, %r7;"
      "cp.async.wait_all;");
  Ranges reads = strided(p, 32, 32, 16);
  for (const ByteRange& part : strided(q, 32, 32, 3)) reads.push_back(part);
  expect(reads, {});
}

TEST_F(Accesses, of_matrices_are_their_rows) {
  run("mov.u32 %r5, 24; wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
      "{%r10,%r11,%r12,%r13,%r14,%r15,%r16,"
      "%r17}, [%rd1], %r5; wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], "
      "{%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1}, %r5;");
  expect(strided(p, 16, 48, 32), strided(q, 16, 96, 64));
}

TEST_F(Accesses, of_memory_that_is_not_the_devices_are_not_there) {
  run("mov.u32 %r5, tile; st.shared.u32 [%r5], %r9; st.local.u32 [own], %r9; ld.local.u32 %r6, [own];"
      "mov.u64 %rd4, tile; cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], %r9; ld.u32 %r6, [%rd5];"
      "mov.u64 %rd4, own; cvta.local.u64 %rd6, %rd4; atom.add.u32 %r6, [%rd5], 1; st.u32 [%rd6], %r9;");
  expect({}, {});
}

TEST_F(Accesses, of_generic_addresses_count_where_they_are_the_devices) {
  run("mov.u64 %rd4, tile; cvta.shared.u64 %rd5, %rd4; setp.lt.u32 %p1, %r1, 16; shl.b64 %rd7, %rd3, 2;"
      "add.s64 %rd8, %rd1, %rd7; selp.b64 %rd6, %rd8, %rd5, %p1; st.u32 [%rd6], %r9; ld.u32 %r5, [%rd6];");
  expect(at(p, {{0, 64}}), at(p, {{0, 64}}));
}

TEST_F(Accesses, of_variables_are_at_their_addresses) {
  run("ld.const.u32 %r5, [table+4]; st.global.u32 [variable], %r5;");
  expect(at(variable("table"), {{4, 8}}), at(variable("variable"), {{0, 4}}));
}

TEST_F(Accesses, of_the_heap_are_told_apart) {
  run("setp.ne.u32 %p1, %r1, 0; @%p1 bra end; { .param .b64 a; .param .b64 b; st.param.b64 [a], 64; call.uni "
      "(b), "
      "malloc, (a); ld.param.b64 %rd4, [b]; } st.u32 [%rd4+60], %r9; { .param .b64 a; st.param.b64 [a], "
      "%rd4; "
      "call.uni free, (a); } end:");
  ASSERT_EQ(record->heap.ranges().size(), 1u);
  const ByteRange heap = record->heap.ranges().front();
  EXPECT_EQ(heap.end - heap.begin, 64u);
  expect({}, {{heap.begin + 60, heap.begin + 64}});
}

TEST_F(Accesses, do_not_depend_on_the_number_of_workers) {
  const std::string body =
      "mad.lo.u64 %rd4, %rd3, 12, %rd1; add.s64 %rd5, %rd2, %rd3; ld.global.u32 %r5, [%rd4];"
      "st.global.u8 [%rd5], %r5; red.global.add.u32 [%rd2+65528], 1;";
  run(body, shape_of(64, 80), 4);
  Ranges reads = strided(p, 5120, 12, 4), writes = {{q, q + 5120}, {q + 65528, q + 65532}};
  reads.push_back(writes.back());
  expect(reads, writes);
  EXPECT_EQ(record->updates.ranges(), Ranges{writes.back()});
}

}  // namespace
}  // namespace refrain::simgpu
