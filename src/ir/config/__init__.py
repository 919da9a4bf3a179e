"""Where things live, and what the user has set: the only reader of the environment and of settings files."""

from __future__ import annotations

from ir.config.paths import (
    cache_dir,
    cases_dir,
    config_dir,
    corpora_dir,
    corpus_dir,
    data_dir,
    embeddings_cache_dir,
    git_config_dir,
    moved_folders,
    registry_path,
    runs_dir,
    runtime_dir,
    safe_name,
)
from ir.config.settings import Effective, Settings, set_setting, unset_setting, user_file

__all__ = [
    "Effective",
    "Settings",
    "cache_dir",
    "cases_dir",
    "config_dir",
    "corpora_dir",
    "corpus_dir",
    "data_dir",
    "embeddings_cache_dir",
    "git_config_dir",
    "moved_folders",
    "registry_path",
    "runs_dir",
    "runtime_dir",
    "safe_name",
    "set_setting",
    "unset_setting",
    "user_file",
]
