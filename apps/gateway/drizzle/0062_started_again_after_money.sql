CREATE TABLE "instance_resume_default" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"is_on" boolean NOT NULL
);
--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "resume_after_topup" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "emptied_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "resume_try" jsonb;--> statement-breakpoint
CREATE INDEX "instance_emptied" ON "instance" USING btree ("emptied_at","id") WHERE "instance"."emptied_at" is not null and "instance"."terminated_at" is null;--> statement-breakpoint
-- Those that stopped for it before this version know since when.
UPDATE "instance" SET "emptied_at" = least(coalesce("stopped_at", "status_since"), "status_since")
  WHERE "reason_code" = 'balance_used_up' AND "desired" = 'stopped' AND "terminated_at" IS NULL;--> statement-breakpoint
-- Whoever follows instances is told of this column, too.
DROP TRIGGER instance_seen_changed ON instance;
--> statement-breakpoint
CREATE TRIGGER instance_seen_changed AFTER UPDATE ON instance
  FOR EACH ROW
  WHEN (
    OLD.name IS DISTINCT FROM NEW.name
    OR OLD.kind IS DISTINCT FROM NEW.kind
    OR OLD.region_code IS DISTINCT FROM NEW.region_code
    OR OLD.gpu_spec_id IS DISTINCT FROM NEW.gpu_spec_id
    OR OLD.gpu_count IS DISTINCT FROM NEW.gpu_count
    OR OLD.simulated IS DISTINCT FROM NEW.simulated
    OR OLD.spec IS DISTINCT FROM NEW.spec
    OR OLD.image_id IS DISTINCT FROM NEW.image_id
    OR OLD.image_reference IS DISTINCT FROM NEW.image_reference
    OR OLD.billing_type IS DISTINCT FROM NEW.billing_type
    OR OLD.charge_cycle IS DISTINCT FROM NEW.charge_cycle
    OR OLD.expiry_time IS DISTINCT FROM NEW.expiry_time
    OR OLD.auto_renew IS DISTINCT FROM NEW.auto_renew
    OR OLD.term_micro IS DISTINCT FROM NEW.term_micro
    OR OLD.container_disk_gb IS DISTINCT FROM NEW.container_disk_gb
    OR OLD.data_disk_gb IS DISTINCT FROM NEW.data_disk_gb
    OR OLD.pod_volume_gb IS DISTINCT FROM NEW.pod_volume_gb
    OR OLD.pod_volume_path IS DISTINCT FROM NEW.pod_volume_path
    OR OLD.http_ports IS DISTINCT FROM NEW.http_ports
    OR OLD.tcp_ports IS DISTINCT FROM NEW.tcp_ports
    OR OLD.udp_ports IS DISTINCT FROM NEW.udp_ports
    OR OLD.start_command IS DISTINCT FROM NEW.start_command
    OR OLD.on_command_end IS DISTINCT FROM NEW.on_command_end
    OR OLD.stop_at IS DISTINCT FROM NEW.stop_at
    OR OLD.spend_limit_cents IS DISTINCT FROM NEW.spend_limit_cents
    OR OLD.changes_wait IS DISTINCT FROM NEW.changes_wait
    OR OLD.idle_stop_minutes IS DISTINCT FROM NEW.idle_stop_minutes
    OR OLD.running_micro_per_hour IS DISTINCT FROM NEW.running_micro_per_hour
    OR OLD.stopped_micro_per_hour IS DISTINCT FROM NEW.stopped_micro_per_hour
    OR OLD.traffic_micro_per_gb IS DISTINCT FROM NEW.traffic_micro_per_gb
    OR OLD.status IS DISTINCT FROM NEW.status
    OR OLD.reason_code IS DISTINCT FROM NEW.reason_code
    OR OLD.reason_detail IS DISTINCT FROM NEW.reason_detail
    OR OLD.progress IS DISTINCT FROM NEW.progress
    OR OLD.engine_id IS DISTINCT FROM NEW.engine_id
    OR OLD.command_end IS DISTINCT FROM NEW.command_end
    OR OLD.ready_at IS DISTINCT FROM NEW.ready_at
    OR OLD.stopped_at IS DISTINCT FROM NEW.stopped_at
    OR OLD.network_volume IS DISTINCT FROM NEW.network_volume
    OR OLD.building_image_id IS DISTINCT FROM NEW.building_image_id
    OR OLD.unpaid_since IS DISTINCT FROM NEW.unpaid_since
    OR OLD.resume_after_topup IS DISTINCT FROM NEW.resume_after_topup
    OR OLD.kept_until IS DISTINCT FROM NEW.kept_until
    OR OLD.status_since IS DISTINCT FROM NEW.status_since
    OR OLD.created_at IS DISTINCT FROM NEW.created_at
    OR OLD.terminated_at IS DISTINCT FROM NEW.terminated_at
  )
  EXECUTE FUNCTION instance_tell_seen();
