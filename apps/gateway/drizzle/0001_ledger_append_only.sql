-- Entries of the ledger are never changed and never deleted: a mistake is corrected by a new entry.
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: % of % is refused', tg_op, tg_table_name
    USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER ledger_transfer_append_only BEFORE UPDATE OR DELETE ON ledger_transfer
  FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
--> statement-breakpoint
CREATE TRIGGER ledger_transfer_keep_all BEFORE TRUNCATE ON ledger_transfer
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
