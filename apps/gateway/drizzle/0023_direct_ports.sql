CREATE TABLE "direct_port" (
	"instance_id" text NOT NULL,
	"port" integer NOT NULL,
	"public_port" integer NOT NULL,
	CONSTRAINT "direct_port_instance_id_port_pk" PRIMARY KEY("instance_id","port")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "direct_port_public" ON "direct_port" USING btree ("public_port");