// The part of ONNX Runtime's C interface that the kernels use, declared by its place.
//
// Source: onnxruntime_c_api.h of ONNX Runtime 1.21.0 (MIT licence), and of 1.24.1 for the last
// entry; tables are only ever appended to. tests/custom_ops/compiled/test_abi.py compares the
// places with the real header, where it is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(_WIN32)
#define SONNX_CALL __stdcall
#else
#define SONNX_CALL
#endif

struct OrtStatus;
struct OrtSessionOptions;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtCustomOpDomain;
struct OrtOp;
struct OrtOpAttr;
struct OrtCustomOp;

using Unused = void (*)();

/// ONNXTensorElementDataType, of which these are used.
enum class ElementType : int {
  kUndefined = 0, kFloat = 1, kUint8 = 2, kInt8 = 3, kUint16 = 4, kInt16 = 5, kInt32 = 6, kInt64 = 7, kBool = 9,
  kFloat16 = 10, kDouble = 11, kUint32 = 12, kUint64 = 13, kBfloat16 = 16,
};

enum OrtOpAttrType : int { ORT_OP_ATTR_INT = 1, ORT_OP_ATTR_STRING = 5 };

enum OrtErrorCode : int { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };

/// Table of functions; those that return a status give null for success.
struct OrtApi {
  OrtStatus*(SONNX_CALL* CreateStatus)(OrtErrorCode, const char*);  // 0
  Unused unused_1;
  const char*(SONNX_CALL* GetErrorMessage)(const OrtStatus*);  // 2
  Unused unused_3[23];
  OrtStatus*(SONNX_CALL* CreateCustomOpDomain)(const char*, OrtCustomOpDomain**);  // 26
  OrtStatus*(SONNX_CALL* CustomOpDomain_Add)(OrtCustomOpDomain*, const OrtCustomOp*);
  OrtStatus*(SONNX_CALL* AddCustomOpDomain)(OrtSessionOptions*, OrtCustomOpDomain*);
  Unused unused_29[22];
  OrtStatus*(SONNX_CALL* GetTensorMutableData)(OrtValue*, void**);  // 51
  Unused unused_52[8];
  OrtStatus*(SONNX_CALL* GetTensorElementType)(const OrtTensorTypeAndShapeInfo*,
                                               ElementType*);  // 60
  OrtStatus*(SONNX_CALL* GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, size_t*);  // 61
  OrtStatus*(SONNX_CALL* GetDimensions)(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t);
  Unused unused_63[2];
  OrtStatus*(SONNX_CALL* GetTensorTypeAndShape)(const OrtValue*,
                                                OrtTensorTypeAndShapeInfo**);  // 65
  Unused unused_66[20];
  OrtStatus*(SONNX_CALL* KernelInfoGetAttribute_int64)(const OrtKernelInfo*, const char*,
                                                       int64_t*);  // 86
  OrtStatus*(SONNX_CALL* KernelInfoGetAttribute_string)(const OrtKernelInfo*, const char*, char*,
                                                        size_t*);  // 87
  Unused unused_88;
  OrtStatus*(SONNX_CALL* KernelContext_GetOutputCount)(const OrtKernelContext*, size_t*);  // 89
  OrtStatus*(SONNX_CALL* KernelContext_GetInput)(const OrtKernelContext*, size_t,
                                                 const OrtValue**);
  OrtStatus*(SONNX_CALL* KernelContext_GetOutput)(OrtKernelContext*, size_t, const int64_t*, size_t,
                                                  OrtValue**);
  Unused unused_92;
  void(SONNX_CALL* ReleaseStatus)(OrtStatus*);  // 93
  Unused unused_94[5];
  void(SONNX_CALL* ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);  // 99
  Unused unused_100[111];
  OrtStatus*(SONNX_CALL* CreateOpAttr)(const char*, const void*, int, OrtOpAttrType,
                                       OrtOpAttr**);  // 211
  void(SONNX_CALL* ReleaseOpAttr)(OrtOpAttr*);
  OrtStatus*(SONNX_CALL* CreateOp)(const OrtKernelInfo*, const char*, const char*, int,
                                   const char**, const ElementType*, int, const OrtOpAttr* const*,
                                   int, int, int, OrtOp**);
  OrtStatus*(SONNX_CALL* InvokeOp)(const OrtKernelContext*, const OrtOp*, const OrtValue* const*,
                                   int, OrtValue* const*, int);
  void(SONNX_CALL* ReleaseOp)(OrtOp*);  // 215
  Unused unused_216[14];
  OrtStatus*(SONNX_CALL* KernelInfo_GetInputCount)(const OrtKernelInfo*, size_t*);  // 230
  Unused unused_231[43];
  OrtStatus*(SONNX_CALL* KernelContext_ParallelFor)(const OrtKernelContext*,
                                                    void (*)(void*, size_t), size_t, size_t,
                                                    void*);  // 274, since version 17
  Unused unused_275[139];
  OrtStatus*(SONNX_CALL* GetTensorElementTypeAndShapeDataReference)(
      const OrtValue*, ElementType*, const int64_t**, size_t*);  // 414, since version 24
};

struct OrtApiBase {
  const OrtApi*(SONNX_CALL* GetApi)(uint32_t version);
  const char*(SONNX_CALL* GetVersionString)();
};

/// A custom operator, as ONNX Runtime reads it: version 18 of the interface added GetMayInplace,
/// and GetAliasMap.
struct OrtCustomOp {
  uint32_t version;
  Unused unused_create_kernel;
  const char*(SONNX_CALL* GetName)(const OrtCustomOp*);
  const char*(SONNX_CALL* GetExecutionProviderType)(const OrtCustomOp*);
  ElementType(SONNX_CALL* GetInputType)(const OrtCustomOp*, size_t);
  size_t(SONNX_CALL* GetInputTypeCount)(const OrtCustomOp*);
  ElementType(SONNX_CALL* GetOutputType)(const OrtCustomOp*, size_t);
  size_t(SONNX_CALL* GetOutputTypeCount)(const OrtCustomOp*);
  Unused unused_kernel_compute;
  void(SONNX_CALL* KernelDestroy)(void*);
  int(SONNX_CALL* GetInputCharacteristic)(const OrtCustomOp*, size_t);
  int(SONNX_CALL* GetOutputCharacteristic)(const OrtCustomOp*, size_t);
  int(SONNX_CALL* GetInputMemoryType)(const OrtCustomOp*, size_t);
  int(SONNX_CALL* GetVariadicInputMinArity)(const OrtCustomOp*);
  int(SONNX_CALL* GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int(SONNX_CALL* GetVariadicOutputMinArity)(const OrtCustomOp*);
  int(SONNX_CALL* GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus*(SONNX_CALL* CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*,
                                         void**);
  OrtStatus*(SONNX_CALL* KernelComputeV2)(void*, OrtKernelContext*);
  Unused unused_infer_output_shape;
  int(SONNX_CALL* GetStartVersion)(const OrtCustomOp*);
  int(SONNX_CALL* GetEndVersion)(const OrtCustomOp*);
  size_t(SONNX_CALL* GetMayInplace)(int**, int**);
  void(SONNX_CALL* ReleaseMayInplace)(int*, int*);
  size_t(SONNX_CALL* GetAliasMap)(int**, int**);
  void(SONNX_CALL* ReleaseAliasMap)(int*, int*);
};
