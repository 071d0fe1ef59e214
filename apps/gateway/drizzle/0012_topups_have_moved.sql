DROP TABLE "testcard_charge" CASCADE;--> statement-breakpoint
DROP TABLE "topup" CASCADE;