"""Options fit for enforced models, each option examined; operators of onnxruntime-extensions.

What is new belongs into one of these lists once it is known what it changes; if it changes what a
model computes, also into the table of docs/native.md, and it is to be held or refused.
"""

import gc
import math
import re
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.errors import SonnxError
from sonnx_ort.ort import registration
from sonnx_ort.ort.disabled_optimizers import names_needed_off
from sonnx_ort.ort.session_options import CHANGING_RESULTS, FATAL, locked
from support.backends import BACKENDS
from support.child import run_python
from support.graphs import binary_model

DISABLED = "optimization.disable_specified_optimizers"


def enforced(backend: str = "python") -> bytes:
    return sonnx_ort.rewrite(
        binary_model("Div", "float", ["n"], ["n"], c_shape=["n"]), backend=backend
    ).SerializeToString()


def quotients(options: ort.SessionOptions, backend: str = "python") -> list[list[float]]:
    """What an enforced model gives for three numbers, by numbers of which one is 0."""
    session = ort.InferenceSession(enforced(backend), options)
    names = [each.name for each in session.get_inputs()]
    given = np.float32([1, -6, 0]), np.float32([0, 4, 5])
    return [each.tolist() for each in session.run(None, dict(zip(names, given, strict=True)))]


@pytest.mark.parametrize("minus_zero", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_only_the_optimizers_that_must_not_act_on_a_model_are_off(
    numbers: bool, minus_zero: bool
) -> None:
    needs = {"rests_on_numbers": numbers, "has_minus_zero": minus_zero}
    options = ort.SessionOptions()
    registration.prepare(options, Backend.NATIVE, **needs, new=True)
    off = options.get_session_config_entry(DISABLED).split(";")
    assert off == names_needed_off(**needs)
    assert ("ConvMulFusion" in off) == numbers
    assert ("CommonSubexpressionElimination" in off) == minus_zero


def test_new_options_by_default() -> None:
    assert quotients(sonnx_ort.register()) == [[math.inf, -1.5, 0.0]]


def test_given_options_are_given_back() -> None:
    options = ort.SessionOptions()
    assert sonnx_ort.register(options) is options


@BACKENDS
def test_registering_twice_is_harmless(backend: str) -> None:
    options = sonnx_ort.register(sonnx_ort.register(backend=backend), backend=backend)
    assert quotients(options, backend) == [[math.inf, -1.5, 0.0]]
    off = options.get_session_config_entry(DISABLED).split(";")
    assert len({*off}) == len(off)


def test_a_trial_is_made_only_of_options_that_a_caller_could_have_changed(monkeypatch) -> None:
    tried: list[ort.SessionOptions] = []
    trial = registration._error_of_trial

    def noted(options: ort.SessionOptions) -> str:
        tried.append(options)
        return trial(options)

    monkeypatch.setattr(registration, "_error_of_trial", noted)
    given = [ort.SessionOptions(), ort.SessionOptions()]
    sonnx_ort.register(backend="python")
    sonnx_ort.InferenceSession(enforced(), backend="python")
    assert not tried
    sonnx_ort.register(given[0], backend="python")
    sonnx_ort.InferenceSession(enforced(), given[1], backend="python")
    assert tried == given


def test_options_that_were_registered_need_no_trial_again(monkeypatch: pytest.MonkeyPatch) -> None:
    options = sonnx_ort.register(ort.SessionOptions(), backend="python")
    monkeypatch.setattr(registration, "_error_of_trial", None)
    assert sonnx_ort.register(options, backend="python") is options


@pytest.mark.parametrize("severity", [-1, 0, 2])
def test_trial_is_not_logged(severity: int, capfd: pytest.CaptureFixture[str]) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = severity
    sonnx_ort.register(options, backend="python")
    assert capfd.readouterr() == ("", "")
    assert options.log_severity_level == severity


def test_options_are_locked_while_they_are_tried() -> None:
    options = ort.SessionOptions()
    ended = threading.Event()

    def register() -> None:
        sonnx_ort.register(options, backend="python")
        ended.set()

    thread = threading.Thread(target=register)
    with locked(options):
        thread.start()
        assert not ended.wait(0.5)
    thread.join(60)
    assert ended.is_set()


def test_second_backend_on_the_same_options_has_its_operators_too() -> None:
    options = sonnx_ort.register(sonnx_ort.register(backend="compiled"), backend="python")
    expected = [[math.inf, -1.5, 0.0]]
    assert [quotients(options, each) for each in ("compiled", "python")] == [expected, expected]


@pytest.mark.parametrize(("backend", "lacking"), [
    ("native", "compiled"), ("native", "python"), ("compiled", "python"), ("python", "compiled"),
])  # fmt: skip
def test_options_have_the_operators_of_the_chosen_backend_alone(backend: str, lacking: str) -> None:
    options = sonnx_ort.register(backend=backend)
    options.log_severity_level = FATAL
    with pytest.raises(Exception, match="is not a registered function/op"):
        ort.InferenceSession(enforced(lacking), options)


@pytest.mark.parametrize("backend", ["python", "compiled"])
def test_registration_keeps_no_options(backend: str) -> None:
    kept = weakref.ref(sonnx_ort.register(ort.SessionOptions(), backend=backend))
    gc.collect()
    assert kept() is None


def test_error_of_a_session_that_is_no_conflict_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError), registration.second_registration_explained():
        raise KeyError("x")


def test_conflict_of_operators_is_told_with_its_cause() -> None:
    with (
        pytest.raises(sonnx_ort.SonnxError) as caught,
        registration.second_registration_explained(),
    ):
        raise RuntimeError("Conflicting with a registered kernel")
    assert str(caught.value) == TWICE
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_options_of_another_type_are_refused() -> None:
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.register("options")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "register(): 'options' is of type str; give onnxruntime.SessionOptions or None"
    )


def test_prepared_options_that_change_results_are_refused() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with pytest.raises(SonnxError, match="set_denormal_as_zero=1 makes results differ"):
        registration.prepare(options, Backend.NATIVE, rests_on_numbers=False, has_minus_zero=False)


def test_threads_that_register_the_same_options_do_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, options = registration._error_of_trial, ort.SessionOptions()

    def slow(tried: ort.SessionOptions) -> str:
        found = trial(tried)
        time.sleep(0.2)
        return found

    monkeypatch.setattr(registration, "_error_of_trial", slow)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: sonnx_ort.register(options, backend="python"), range(2)))
    assert quotients(options) == [[math.inf, -1.5, 0.0]]


def test_the_optimizers_that_undo_enforcement_are_switched_off() -> None:
    options = sonnx_ort.register()
    assert options.get_session_config_entry(DISABLED) == (
        "ReshapeFusion;QDQPropagationTransformer;DivMulFusion;NoopElimination;GeluFusionL1;"
        "GeluFusionL2;LayerNormFusionL1;LayerNormFusionL2;SimplifiedLayerNormFusion;"
        "MatMulScaleFusion;FuseReluClip;GemmTransposeFusion;AttentionFusion;Avx2WeightS8ToU8Transformer;BiasGeluFusion;"
        "BiasSkipLayerNormFusion;ClipQuantRewrite;ConvAddFusion;ConvBNFusion;ConvMulFusion;"
        "DoubleQDQPairsRemover;DQMatMulNBitsFusion;DynamicQuantizeMatMulFusion;"
        "EmbedLayerNormFusion;FastGeluFusion;MatMul_BatchNormalization_Fusion;"
        "MatMulIntegerToFloatFusion;MatMulNBitsFusion;MatMulNBitsMlpFusion;MatMulNBitsQkvFusion;"
        "MatMulNBitsQLoRAFusion;NhwcTransformer;Pad_Fusion;QDQFinalCleanupTransformer;"
        "QDQS8ToU8Transformer;QDQSelectorActionTransformer;QuickGeluFusion;ReluQuantRewrite;"
        "SkipLayerNormFusion;SwiGluFusion;WeightBiasQuantization;WhereDummyDq;"
        "CommonSubexpressionElimination"
    )


def test_optimizers_that_the_caller_switched_off_stay_off() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED, "ConvAddFusion")
    sonnx_ort.register(options)
    assert options.get_session_config_entry(DISABLED).startswith("ConvAddFusion;ReshapeFusion;")


def test_flushing_denormals_is_refused() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.register(options)
    assert str(caught.value) == (
        "the session option session.set_denormal_as_zero=1 makes results differ from IEEE 754; "
        "remove it"
    )


OPTIONS = """
add_external_initializers add_external_initializers_from_files_in_memory
add_free_dimension_override_by_denotation add_free_dimension_override_by_name add_initializer
add_provider add_provider_for_devices add_session_config_entry clear_ep_context_data_read_func
enable_cpu_mem_arena enable_mem_pattern enable_mem_reuse enable_profiling execution_mode
execution_order get_session_config_entry graph_optimization_level has_providers
inter_op_num_threads intra_op_num_threads log_severity_level log_verbosity_level logid
optimized_model_filepath profile_file_prefix register_custom_ops_library
set_ep_context_data_read_func set_load_cancellation_flag set_provider_selection_policy
set_provider_selection_policy_delegate use_deterministic_compute use_per_session_threads
"""
RUN_OPTIONS = """
add_active_adapter add_run_config_entry get_run_config_entry log_severity_level
log_verbosity_level logid only_execute_path_to_fetches terminate
"""

ENTRIES = """
ep.context_embed_mode ep.context_enable ep.context_file_path
ep.context_model_external_initializers_file_name ep.context_source_model_path
ep.cpu.qmoe_deferred_scale ep.cuda. ep.cuda.fpa_intb_dequant_gemm_min_m ep.cuda.fpa_intb_gemm
ep.cuda.fpa_intb_profile_m ep.cuda.gqa_workspace_max_total_sequence_length
ep.cuda.matmul_nbits_m_chunk_size ep.cuda.moe_packed_gpu_experts
ep.cuda.runtime_fusion.causal_conv_with_state ep.cuda.runtime_fusion.unit_swish
ep.cudaexecutionprovider. ep.enable_weightless ep.enable_weightless_ep_context_nodes
ep.enable_weightless_mode memory.enable_memory_arena_shrinkage mlas.disable_kleidiai
mlas.kleidiai.conv_igemm_max_work mlas.nchwc_depthwise_sliding
mlas.nchwc_pointwise_conv_max_input_channel_batch mlas.qnbit.force_fp32 mlas.use_lut_gemm
optimization.constant_folding_max_output_size_in_bytes optimization.disable_specified_optimizers
optimization.enable_cast_chain_elimination optimization.enable_gelu_approximation
optimization.minimal_build_optimizations session.allow_released_opsets_only
session.collect_node_memory_stats_to_file session.compile_only
session.debug_layout_transformation session.disable_aot_function_inlining
session.disable_cpu_ep_fallback session.disable_double_qdq_remover session.disable_model_compile
session.disable_prepacking session.disable_qdq_constant_folding session.disable_quant_qdq
session.dynamic_block_base session.enable_cpu_mem_arena session.enable_dq_matmulnbits_fusion
session.enable_mem_pattern session.enable_moe_expert_counting
session.enable_moe_expert_statistics session.enable_profiling session.enable_quant_qdq_cleanup
session.enable_saved_runtime_optimizations session.execution_mode
session.external_data_loader.chunk_bytes session.external_data_loader.min_size_bytes
session.external_data_loader.pinned_memory_bytes session.external_data_loader.threads
session.fail_on_suboptimal_compiled_model session.force_spinning_stop
session.function_expansion_byte_limit session.function_expansion_node_limit
session.gqa_value_layout session.graph_optimization_level session.graph_optimizations_loop_level
session.inter_op.allow_spinning session.inter_op.spin_backoff_max
session.inter_op.spin_duration_us session.inter_op_num_threads session.intra_op.allow_spinning
session.intra_op.spin_backoff_max session.intra_op.spin_duration_us session.intra_op_num_threads
session.intra_op_thread_affinities session.kernel_dispatch_policy
session.layer_assignment_settings session.load_model_format session.log_id
session.log_severity_level session.log_verbosity_level session.max_shape_override
session.model_external_initializers_file_folder_path session.moe.offload.
session.moe.offload.allow_file_backing session.moe.offload.async_max_tokens
session.moe.offload.budget_group session.moe.offload.cpu_execution
session.moe.offload.cpu_threads session.moe.offload.derived_cache_dir
session.moe.offload.device_expert_bytes session.moe.offload.device_working_bytes
session.moe.offload.gpu_budget_bytes session.moe.offload.gpu_budget_bytes.
session.moe.offload.gpu_device_mem_limit session.moe.offload.host_expert_bytes
session.moe.offload.host_working_bytes session.moe.offload.min_expert_weight
session.moe.offload.mode session.moe.offload.node_overrides session.moe.offload.pinned_bytes
session.moe.offload.placement session.moe.offload.popularity_file
session.moe.offload.prefill_wave_experts session.moe.offload.reserve_device_bytes
session.moe.offload.skip_tail_cold_only session.moe.offload.skip_zero_cold_doorbell
session.moe.offload.source_root session.moe.offload.tail_substitution_min_rank
session.moe.offload.tail_substitution_threshold session.moe_expert_counter_alpha
session.moe_expert_counter_beta session.moe_expert_counter_state_file
session.name_based_layer_assignment session.node_partition_config_file
session.optimized_model_external_initializers_file_name
session.optimized_model_external_initializers_min_size_in_bytes session.optimized_model_filepath
session.prepack.enable_parallel session.qdq_matmulnbits_accuracy_level
session.qdq_matmulnbits_block_size session.qdqisint8allowed
session.record_ep_graph_assignment_info session.resource_cuda_partitioning_settings
session.save_external_prepacked_constant_initializers session.save_model_format
session.set_denormal_as_zero session.strict_shape_type_inference
session.strict_workspace_verification session.use_deterministic_compute
session.use_device_allocator_for_initializers session.use_env_allocators
session.use_external_initializer_file_buffers_directly session.use_ort_model_bytes_directly
session.use_ort_model_bytes_for_initializers session.use_per_session_threads
session.x64quantprecision
"""

_ENTRY = re.compile(rb"(?<![\w.])(?:session|optimization|ep|memory|mlas)\.[a-z0-9_.]+(?=\0)")
PAGE = Path(__file__).parents[2] / "docs" / "native.md"


def test_every_attribute_of_session_options_is_known() -> None:
    found = {name for name in dir(ort.SessionOptions) if not name.startswith("_")}
    assert found <= set(OPTIONS.split())


def test_every_attribute_of_run_options_is_known() -> None:
    found = {name for name in dir(ort.RunOptions) if not name.startswith("_")}
    assert found <= set(RUN_OPTIONS.split())


def test_every_config_entry_is_known() -> None:
    folder = Path(ort.__file__).parent / "capi"
    (library,) = folder.glob("onnxruntime_pybind11_state*.so")
    found = {key.decode() for key in _ENTRY.findall(library.read_bytes())}
    assert found
    assert found <= set(ENTRIES.split())


def test_every_way_to_run_a_session_raises_violations() -> None:
    runs = {name for name in dir(ort.InferenceSession) if name.startswith("run")}
    assert runs <= set(vars(sonnx_ort.InferenceSession))


@pytest.mark.parametrize("key", CHANGING_RESULTS)
def test_page_has_every_entry_that_is_refused(key: str) -> None:
    assert f"`{key}`" in PAGE.read_text(encoding="utf-8")


REMEDY = (
    "remove options.register_custom_ops_library(onnxruntime_extensions.get_library_path()): "
    "sonnx_ort registers this library, with all its operators and those defined by onnx_op"
)
TWICE = f"a library is registered twice on these session options; {REMEDY}"
TOO_EARLY = (
    "onnxruntime-extensions was registered on these session options before sonnx_ort added its "
    f"operators to it; {REMEDY}"
)

PRELUDE = """
import numpy as np
import onnx.parser
import onnxruntime as ort
from onnxruntime_extensions import PyOp, get_library_path, onnx_op

import sonnx_ort

def session(options, **chosen):
    return sonnx_ort.InferenceSession(MODEL, options, **chosen)

def plain_session(options):
    return ort.InferenceSession(sonnx_ort.rewrite(MODEL).SerializeToString(), options)

def add_library(options):
    options.register_custom_ops_library(get_library_path())
    return options

def options():
    new = ort.SessionOptions()
    new.log_severity_level = 4
    return new

def say(start):
    quotients = {"a": np.array([6], np.float32), "b": np.array([3], np.float32)}
    try:
        print(*(result.tolist() for result in start().run(None, FEEDS | quotients)))
    except sonnx_ort.SonnxError as error:
        print(error)
"""

TEXTS = """
FEEDS = {"x": np.array(["so"], object)}
MODEL = onnx.parser.parse_model('''
    <ir_version: 9, opset_import: ["": 17, "ai.onnx.contrib": 1]>
    g (string[n] x, float[m] a, float[m] b) => (string[n] y, float[m] c) {
        y = ai.onnx.contrib.StringUpper(x)
        c = Div(a, b)
    }
''')
"""
UPPER = "['SO'] [2.0]"


def own_operator(domain):
    return f"""
    FEEDS = {{"x": np.array([4], np.float32)}}
    MODEL = onnx.parser.parse_model('''
        <ir_version: 9, opset_import: ["": 17, "{domain}": 1]>
        g (float[n] x, float[m] a, float[m] b) => (float[n] y, float[m] c) {{
            y = {domain}.Half(x)
            c = Div(a, b)
        }}
    ''')

    @onnx_op(op_type="{domain}::Half", inputs=[PyOp.dt_float], outputs=[PyOp.dt_float])
    def half(x):
        return x / 2
    """


HALF = "[2.0] [2.0]"

MODELS = {
    "operator of the library": (TEXTS, UPPER),
    "own operator in its domain": (own_operator("ai.onnx.contrib"), HALF),
    "own operator in its own domain": (own_operator("own"), HALF),
}

STARTS = {
    "registered": "plain_session(sonnx_ort.register(options()))",
    "our session": "session(options())",
    "our session, registered": "session(sonnx_ort.register(options()))",
    "our session, new options": "session(None)",
    # What was loaded for the sessions above is in the library by now.
    "library first": "plain_session(sonnx_ort.register(add_library(options())))",
    "our session, library first": "session(add_library(options()))",
    "native, library alone": "session(add_library(options()), backend='native')",
}


@pytest.mark.parametrize(("model", "results"), MODELS.values(), ids=MODELS)
def test_operators_of_others_run_beside_ours(model, results):
    child = run_python(PRELUDE, model, *(f"say(lambda: {start})" for start in STARTS.values()))
    assert dict(zip(STARTS, child.stdout.splitlines(), strict=False)) == dict.fromkeys(
        STARTS, results
    ), child


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("plain_session(sonnx_ort.register(add_library(options())))", TOO_EARLY),
        ("session(add_library(options()))", TOO_EARLY),
        ("sonnx_ort.register(add_library(add_library(options())))", TWICE),
        ("session(add_library(sonnx_ort.register(options())))", TWICE),
        ("session(add_library(sonnx_ort.register(options())), backend='native')", TWICE),
    ],
)
def test_registration_that_cannot_work_is_refused_with_what_to_leave_out(start, message):
    child = run_python(PRELUDE, TEXTS, f"say(lambda: {start})")
    assert child.stdout == f"{message}\n", child


def test_asking_what_is_registered_leaves_no_trace_of_a_session():
    child = run_python(
        PRELUDE,
        """
        import os
        profiled = options()
        profiled.enable_profiling = True
        profiled.optimized_model_filepath = "optimized.onnx"
        sonnx_ort.register(profiled)
        print(os.listdir(), profiled.enable_profiling, profiled.log_severity_level)
        """,
    )
    assert child.stdout == "[] True 4\n", child
    assert not child.stderr, child
