ALTER TABLE "direct_port" ADD COLUMN "protocol" text DEFAULT 'tcp' NOT NULL;--> statement-breakpoint
DROP INDEX "direct_port_public";--> statement-breakpoint
ALTER TABLE "direct_port" DROP CONSTRAINT "direct_port_instance_id_port_pk";--> statement-breakpoint
ALTER TABLE "direct_port" ADD CONSTRAINT "direct_port_instance_id_protocol_port_pk" PRIMARY KEY("instance_id","protocol","port");--> statement-breakpoint
ALTER TABLE "instance" ADD COLUMN "udp_ports" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "direct_port_public" ON "direct_port" USING btree ("protocol","public_port");