"""The made-up programs that generated memories are about: two dozen areas, each with names that belong together."""

from __future__ import annotations

from typing import Final

Entry = dict[str, tuple[str, ...]]


def _area(components: str, functions: str, files: str, nouns: str, features: str, behaviours: str) -> Entry:
    """From one line per field, items separated by semicolons."""
    fields = {
        "component": components,
        "function": functions,
        "file": files,
        "noun": nouns,
        "feature": features,
        "behaviour": behaviours,
    }
    area = {name: tuple(item.strip() for item in line.split(";")) for name, line in fields.items()}
    area["module"] = tuple(file.rpartition(".")[0].replace("/", ".") for file in area["file"])
    return area


AREAS: Final[tuple[Entry, ...]] = (
    _area(
        "payment processor; refund service; card vault",
        "charge_card(); capture_payment(); issue_refund(); settle_batch()",
        "billing/charge.py; billing/refunds.py; billing/settlement.py",
        "payments; refunds; card tokens; settlements",
        "partial refunds; idempotent card charges; settlement batches; saved cards",
        "partial refunds; the daily settlement; retried charges",
    ),
    _area(
        "login endpoint; session store; token issuer",
        "verify_password(); issue_token(); refresh_session(); revoke_token()",
        "auth/tokens.py; auth/sessions.py; auth/middleware.py",
        "sessions; refresh tokens; login attempts; password hashes",
        "refresh token rotation; single sign-on; account lockout; passkey login",
        "remember-me logins; sign-out on all devices; token rotation",
    ),
    _area(
        "search indexer; query parser; ranking service",
        "index_document(); parse_query(); rank_hits(); highlight_terms()",
        "search/indexer.py; search/query.py; search/ranking.py",
        "documents; queries; postings; facets",
        "faceted search; typo-tolerant queries; phrase search; search suggestions",
        "phrase queries; facet counts; highlighting",
    ),
    _area(
        "order pipeline; shopping cart; checkout form",
        "place_order(); apply_coupon(); merge_carts(); reserve_stock()",
        "shop/orders.py; shop/cart.py; shop/checkout.ts",
        "orders; cart lines; coupons; stock reservations",
        "guest checkout; stackable coupons; split shipments; saved carts",
        "coupon stacking; guest checkout; stock reservations",
    ),
    _area(
        "mail sender; notification hub; digest builder",
        "send_mail(); render_digest(); enqueue_push(); unsubscribe_user()",
        "notify/mail.py; notify/digest.py; notify/push.py",
        "mails; push messages; digests; bounce reports",
        "weekly digests; push notifications; bounce handling; quiet hours",
        "the weekly digest; unsubscribe links; quiet hours",
    ),
    _area(
        "report builder; PDF exporter; chart renderer",
        "build_report(); export_pdf(); render_chart(); paginate_rows()",
        "reports/builder.py; reports/pdf.py; reports/charts.ts",
        "reports; charts; pages; table rows",
        "scheduled reports; PDF export; drill-down charts; report sharing",
        "page numbering; chart legends; scheduled exports",
    ),
    _area(
        "ingest worker; event queue; dead-letter consumer",
        "consume_event(); ack_message(); retry_failed(); route_event()",
        "ingest/worker.py; ingest/queue.py; ingest/retry.go",
        "events; messages; consumer offsets; dead letters",
        "exactly-once consumption; dead-letter replay; priority queues; event batching",
        "message ordering; dead-letter replay; backpressure",
    ),
    _area(
        "feature store; training loop; model registry",
        "train_epoch(); load_features(); register_model(); evaluate_fold()",
        "ml/train.py; ml/features.py; ml/registry.py",
        "features; checkpoints; training batches; model versions",
        "early stopping; mixed-precision training; model versioning; feature backfills",
        "cross-validation; checkpoint resuming; early stopping",
    ),
    _area(
        "upload handler; image resizer; media library",
        "resize_image(); store_upload(); strip_exif(); make_thumbnail()",
        "media/upload.py; media/resize.rs; media/library.ts",
        "uploads; thumbnails; image variants; video chunks",
        "resumable uploads; WebP thumbnails; drag-and-drop albums; video previews",
        "resumable uploads; portrait thumbnails; EXIF removal",
    ),
    _area(
        "rate limiter; API gateway; request router",
        "check_quota(); route_request(); sign_request(); parse_headers()",
        "gateway/limits.go; gateway/router.go; gateway/signing.py",
        "requests; quotas; API keys; upstream calls",
        "per-key quotas; canary routing; request signing; response compression",
        "quota resets; canary routing; preflight requests",
    ),
    _area(
        "calendar sync; booking engine; reminder job",
        "sync_calendar(); find_free_slot(); book_room(); expand_recurrence()",
        "calendar/sync.py; calendar/booking.py; calendar/recurrence.ts",
        "appointments; time slots; reminders; recurring events",
        "recurring bookings; calendar import; waiting lists; time zone picking",
        "weekly recurrences; all-day events; double-booking checks",
    ),
    _area(
        "config loader; feature flag service; secrets reader",
        "load_config(); evaluate_flag(); merge_overrides(); reload_settings()",
        "core/config.py; core/flags.py; deploy/values.yaml",
        "settings; feature flags; environment overrides; secrets",
        "gradual rollouts; hot config reload; typed settings; flag audit trails",
        "percentage rollouts; environment overrides; config reloads",
    ),
    _area(
        "chat backend; presence tracker; message history",
        "post_message(); mark_read(); broadcast_typing(); load_history()",
        "chat/server.go; chat/presence.go; chat/history.ts",
        "chat messages; read receipts; presence updates; threads",
        "threaded replies; typing indicators; message reactions; offline delivery",
        "unread counters; message order; offline delivery",
    ),
    _area(
        "CSV importer; schema mapper; duplicate finder",
        "parse_row(); map_columns(); detect_delimiter(); merge_duplicates()",
        "importer/csv.py; importer/mapping.py; importer/dedupe.py",
        "CSV rows; column mappings; duplicates; import batches",
        "column auto-mapping; import previews; delimiter detection; undoable imports",
        "quoted fields; import previews; duplicate merging",
    ),
    _area(
        "deployment script; health checker; rollback controller",
        "deploy_release(); wait_healthy(); drain_node(); rollback_release()",
        "deploy/release.sh; deploy/health.py; deploy/rollback.go",
        "releases; health probes; containers; rollouts",
        "blue-green deployment; automatic rollback; health probes; deployment locks",
        "zero-downtime restarts; automatic rollback; node draining",
    ),
    _area(
        "price calculator; tax engine; currency converter",
        "compute_price(); apply_tax(); convert_currency(); round_total()",
        "pricing/calc.py; pricing/tax.py; pricing/fx.py",
        "prices; tax rates; exchange rates; discounts",
        "tiered pricing; reverse-charge tax; multi-currency invoices; volume discounts",
        "rounding of totals; tax exemptions; tiered discounts",
    ),
    _area(
        "map viewer; geocoder; route planner",
        "geocode_address(); plan_route(); cluster_markers(); snap_to_road()",
        "geo/geocode.py; geo/routing.rs; geo/map.tsx",
        "addresses; map tiles; waypoints; markers",
        "marker clustering; offline tiles; route alternatives; address completion",
        "marker clustering; routes across the date line; address completion",
    ),
    _area(
        "cache layer; lock manager; task scheduler",
        "get_or_set(); acquire_lock(); schedule_task(); evict_stale()",
        "core/cache.py; core/locks.py; core/scheduler.py",
        "cache entries; locks; scheduled tasks; leases",
        "two-level caching; cron schedules; distributed locks; cache warming",
        "cache invalidation; missed cron runs; lock renewal",
    ),
    _area(
        "profile page; settings dialog; permission matrix",
        "update_profile(); grant_role(); check_permission(); list_members()",
        "accounts/profile.tsx; accounts/roles.py; accounts/permissions.py",
        "profiles; roles; permissions; team members",
        "role-based access; avatar editing; team invitations; audit logs",
        "role inheritance; team invitations; guest access",
    ),
    _area(
        "log shipper; metrics collector; alert manager",
        "ship_logs(); record_metric(); fire_alert(); sample_traces()",
        "observe/logs.go; observe/metrics.py; observe/alerts.yaml",
        "log lines; metrics; alerts; trace spans",
        "structured logging; alert grouping; trace sampling; error budgets",
        "alert grouping; counter resets; trace sampling",
    ),
    _area(
        "markdown renderer; comment editor; diff viewer",
        "render_markdown(); sanitize_html(); diff_lines(); autosave_draft()",
        "editor/render.ts; editor/sanitize.ts; editor/diff.rs",
        "comments; drafts; code blocks; diffs",
        "autosaved drafts; side-by-side diffs; mention completion; syntax highlighting",
        "nested lists; draft recovery; word diffs",
    ),
    _area(
        "inventory service; barcode scanner; supplier feed",
        "adjust_stock(); scan_barcode(); import_feed(); count_shelf()",
        "stock/levels.py; stock/scanner.kt; stock/suppliers.py",
        "stock levels; barcodes; supplier prices; deliveries",
        "low-stock warnings; barcode scanning; supplier imports; cycle counts",
        "negative stock checks; batch scanning; low-stock warnings",
    ),
    _area(
        "backup job; restore tool; archive store",
        "take_snapshot(); verify_backup(); restore_table(); prune_archives()",
        "backup/snapshot.py; backup/restore.py; backup/prune.sh",
        "snapshots; archives; checksums; restore points",
        "incremental backups; point-in-time restore; encrypted archives; backup verification",
        "point-in-time restore; retention rules; checksum verification",
    ),
    _area(
        "agent planner; tool dispatcher; prompt assembler",
        "plan_steps(); call_tool(); build_prompt(); parse_tool_args()",
        "agent/planner.py; agent/tools.py; agent/prompts.py",
        "plans; tool calls; prompts; model replies",
        "parallel tool calls; prompt caching; plan repair; streaming replies",
        "tool call retries; context trimming; streaming replies",
    ),
)
