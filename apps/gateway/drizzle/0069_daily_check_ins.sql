CREATE TABLE "check_in" (
	"user_id" uuid NOT NULL,
	"day" date NOT NULL,
	"time_zone" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"streak" integer NOT NULL,
	"grant_id" uuid NOT NULL,
	CONSTRAINT "check_in_user_id_day_pk" PRIMARY KEY("user_id","day"),
	CONSTRAINT "check_in_streak" CHECK ("check_in"."streak" > 0)
);
