// A library that is linked with CUPTI and looks nothing up.
extern "C" int cuptiSubscribe(void** subscriber, void* callback, void* data);

extern "C" __attribute__((visibility("default"))) int begin(void** subscriber, void* callback, void* data) {
  return cuptiSubscribe(subscriber, callback, data);
}
