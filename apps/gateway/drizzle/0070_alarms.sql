CREATE TABLE "alarm" (
	"code" text NOT NULL,
	"place" text NOT NULL,
	"value" double precision NOT NULL,
	"about" jsonb NOT NULL,
	"read_at" timestamp (3) with time zone NOT NULL,
	"since" timestamp (3) with time zone,
	"told_at" timestamp (3) with time zone,
	CONSTRAINT "alarm_code_place_pk" PRIMARY KEY("code","place")
);
