"""Is it any good? Cases, measures, selection, calibration, comparison, and pictures of them.

Two things that look alike are kept apart throughout. *Off topic*: the corpus is not about that; a floor on the raw
channel scores refuses such queries (:func:`calibrate_min_score`, :func:`calibrate_from_probes`,
:func:`abstention_report`). *Missing answer*: the topic is right and the document is not there; scores hardly show it
(:func:`gold_removed_report`).
"""

from __future__ import annotations

from ir.eval.abstention import (
    MISSING_ANSWER_SIGNALS,
    AbstentionReport,
    MissingAnswerReport,
    abstention_report,
    gold_removed_report,
)
from ir.eval.agreement import kappa
from ir.eval.beir import BeirDataset, find_beir, load_beir, save_beir
from ir.eval.calibration import calibrate_min_score
from ir.eval.cases import DiscoveryCase, load_cases, load_meta, save_cases, to_qrels
from ir.eval.compare import MeasureComparison, QueryChange, RunComparison, compare_runs, paired_comparison
from ir.eval.coverage_report import CoverageReport, coverage
from ir.eval.curves import probability_at
from ir.eval.discovery import FAILURE_CLASSES, DiscoveryReport, evaluate_discovery
from ir.eval.distractors import (
    DFLT_DISTRACTOR_SIZES,
    distractor_curve_from_cases,
    distractor_robustness_curve,
)
from ir.eval.floors import auroc
from ir.eval.gate import Answered, GateReport, judge
from ir.eval.gate_plan import Configuration, Criteria, GatePlan, Question, Way, read_plan
from ir.eval.gate_report import gate_markdown, plot_gate
from ir.eval.measures import DFLT_K_VALUES, DFLT_METRICS, METRICS, per_query_values
from ir.eval.page import Section, html_report, save_html_report
from ir.eval.plots import plot_by_k, plot_distractors, plot_frontier, plot_scores, run_by_k
from ir.eval.probes import DFLT_PERCENTILE, calibrate_from_probes
from ir.eval.records import MinScoreCalibration, forget_calibration, load_calibration
from ir.eval.reports import RetrievalReport, retrieval_report
from ir.eval.retrieval import DFLT_MODE, as_doc_retriever, corpus_artifact_ids, validate_cases
from ir.eval.runs import load_qrels, load_run, make_run, ranking_of, save_qrels, save_run
from ir.eval.selection import SELECTION_METRICS, SelectionReport, evaluate_selection
from ir.eval.sweep import SelectionGridPoint, SelectionSweep, sweep_selector
from ir.select.probes import probe_queries

__all__ = [
    "DFLT_DISTRACTOR_SIZES",
    "DFLT_K_VALUES",
    "DFLT_METRICS",
    "DFLT_MODE",
    "DFLT_PERCENTILE",
    "FAILURE_CLASSES",
    "METRICS",
    "MISSING_ANSWER_SIGNALS",
    "SELECTION_METRICS",
    "AbstentionReport",
    "Answered",
    "BeirDataset",
    "Configuration",
    "CoverageReport",
    "Criteria",
    "DiscoveryCase",
    "DiscoveryReport",
    "GatePlan",
    "GateReport",
    "MeasureComparison",
    "MinScoreCalibration",
    "MissingAnswerReport",
    "QueryChange",
    "Question",
    "RetrievalReport",
    "RunComparison",
    "Section",
    "SelectionGridPoint",
    "SelectionReport",
    "SelectionSweep",
    "Way",
    "abstention_report",
    "as_doc_retriever",
    "auroc",
    "calibrate_from_probes",
    "calibrate_min_score",
    "compare_runs",
    "corpus_artifact_ids",
    "coverage",
    "distractor_curve_from_cases",
    "distractor_robustness_curve",
    "evaluate_discovery",
    "evaluate_selection",
    "find_beir",
    "forget_calibration",
    "gate_markdown",
    "gold_removed_report",
    "html_report",
    "judge",
    "kappa",
    "load_beir",
    "load_calibration",
    "load_cases",
    "load_meta",
    "load_qrels",
    "load_run",
    "make_run",
    "paired_comparison",
    "per_query_values",
    "plot_by_k",
    "plot_distractors",
    "plot_frontier",
    "plot_gate",
    "plot_scores",
    "probability_at",
    "probe_queries",
    "ranking_of",
    "read_plan",
    "retrieval_report",
    "run_by_k",
    "save_beir",
    "save_cases",
    "save_html_report",
    "save_qrels",
    "save_run",
    "sweep_selector",
    "to_qrels",
    "validate_cases",
]
