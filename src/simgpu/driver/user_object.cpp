// cuUserObject*: what programs tie to the life of graphs. It must not outlive a program's wish: the
// destructor is called in the call that gives back the last reference.
#include <algorithm>

#include "simgpu/driver/graph.hpp"

namespace refrain::simgpu::driver {

void release_user_object(UserObject& object, std::uint64_t count) {
  object.references -=
      std::min(count, object.references);  // a program may have given back more than was its own
  if (object.references != 0) return;
  bool& inside = thread_state().in_host_function;  // where no CUDA call is permitted
  const bool before = std::exchange(inside, true);
  object.destroy(object.pointer);
  inside = before;
  find_device()->user_objects.remove(&object);
}

UserReferences::UserReferences(const UserReferences& other) {
  for (const auto& [object, count] : other.counts_) add(object, count);
}

UserReferences::~UserReferences() {
  for (const auto& [object, count] : counts_) release_user_object(*object, count);
}

void UserReferences::add(const std::shared_ptr<UserObject>& object, std::uint64_t count) {
  counts_[object] += count;
  object->references += count;
}

bool UserReferences::remove(const std::shared_ptr<UserObject>& object, std::uint64_t count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) counts_.erase(found);
  release_user_object(*object, count);
  return true;
}

namespace {

template <class Body>
CUresult with_object(CUuserObject handle, unsigned count, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    require(count > 0);
    body(session, session.device.user_objects.need(handle, CUDA_ERROR_INVALID_VALUE));
  });
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuUserObjectCreate(CUuserObject* out, void* pointer, CUhostFn destroy, unsigned count,
                            unsigned flags) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && destroy != nullptr && count > 0 && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    auto object = std::make_shared<UserObject>(UserObject{pointer, destroy, count});
    session.device.user_objects.add(object);
    *out = reinterpret_cast<CUuserObject>(object.get());
  });
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return with_object(handle, count, [&](Session&, const auto& object) { object->references += count; });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  return with_object(handle, count, [&](Session&, const auto& object) {
    require(object->references >= count);
    release_user_object(*object, count);
  });
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle, unsigned count, unsigned flags) {
  return with_object(object_handle, count, [&](Session& session, const auto& object) {
    require((flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) == 0);
    const auto graph = session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE);
    const bool moved = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
    require(!moved || object->references >= count);
    graph->user_objects.add(object, count);
    if (moved) release_user_object(*object, count);
  });
}

CUresult cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle, unsigned count) {
  return with_object(object_handle, count, [&](Session& session, const auto& object) {
    require(session.device.graphs.need(handle, CUDA_ERROR_INVALID_VALUE)->user_objects.remove(object, count));
  });
}
