import { sql } from 'drizzle-orm'
import type { Rule } from './book-rule.ts'

/** An earning's entry counts for whoever earned it, or against them where it is taken back. */
const signedEarning = sql`case when to_account like 'house:earnings:%' then amount_micro else -amount_micro end`
/** States of a quarter in which nothing of it is owed any more. */
const settled = sql`'paying', 'paid', 'credited'`

/** What the audit of the books asks of what customers earn by referring (R9.7): what is owed, and what was paid. */
export const EARNING_RULES: Rule[] = [
  {
    name: 'a reward is the sum of its entries',
    broken: sql`
      select coalesce(r.id, t.ref_id) || ': ' || coalesce(r.amount_micro::text, 'no such reward') || ', by its '
        || coalesce(t.count, 0) || ' entries ' || coalesce(t.micro, 0) as problem
      from referral_reward r full join (
        select ref_id, user_id, count(*), sum(${signedEarning}) as micro
        from ledger_transfer where kind = 'earning' group by ref_id, user_id
      ) t on t.ref_id = r.id and t.user_id = r.user_id
      where r.id is null or r.amount_micro <> coalesce(t.micro, 0) or r.entries <> coalesce(t.count, 0)`,
  },
  {
    name: "a friend's rebates are the floor of what they spent at its rate",
    broken: sql`
      select f.id || ': ' || floor(f.rebate_parts / 10000.0) || ' by the rate, ' || coalesce(r.micro, 0) || ' by its rewards'
        as problem
      from referral f left join (
        select referral_id, sum(amount_micro) as micro from referral_reward where kind = 'rebate' group by referral_id
      ) r on r.referral_id = f.id
      where floor(f.rebate_parts / 10000.0) <> coalesce(r.micro, 0)`,
  },
  {
    name: 'what is owed for referring is what was earned and is not settled',
    broken: sql`
      select coalesce(o.user_id, e.user_id) || ': ' || coalesce(o.micro, 0) || ' owed, ' || coalesce(e.micro, 0)
        || ' earned and not settled' as problem
      from (
        select user_id, sum(case when to_account like 'house:earnings:%' then amount_micro else -amount_micro end) as micro
        from ledger_transfer where to_account like 'house:earnings:%' or from_account like 'house:earnings:%'
        group by user_id
      ) o full join (
        select user_id, sum(micro) as micro from (
          select user_id, amount_micro as micro from referral_reward
          union all
          select user_id, -(net_micro + fee_micro) from referral_settlement where state in (${settled})
        ) parts group by user_id
      ) e on e.user_id = o.user_id
      where coalesce(o.micro, 0) <> coalesce(e.micro, 0)`,
  },
  {
    name: 'a quarter that has ended is what was earned in it and what came from those before',
    broken: sql`
      select s.user_id || ' in ' || s.quarter || ': ' || s.amount_micro || ', of which ' || s.carried_in_micro
        || ' came, and ' || coalesce(r.micro, 0) || ' earned' as problem
      from referral_settlement s left join (
        select user_id, quarter, sum(amount_micro) as micro from referral_reward group by 1, 2
      ) r on r.user_id = s.user_id and r.quarter = s.quarter
      where s.state <> 'open' and s.amount_micro <> s.carried_in_micro + coalesce(r.micro, 0)
        -- After money that did not arrive, what was less than a cent may be part of a later quarter.
        and s.amount_micro + s.rest_micro <> s.carried_in_micro + coalesce(r.micro, 0)`,
  },
  {
    name: 'what came from quarters before is what they left',
    broken: sql`
      select s.user_id || ' in ' || s.quarter || ': ' || s.carried_in_micro || ' came, ' || coalesce(b.micro, 0) || ' left'
        as problem
      from referral_settlement s left join (
        select user_id, carried_to, sum(rest_micro) as micro from referral_settlement
        where carried_to is not null group by 1, 2
      ) b on b.user_id = s.user_id and b.carried_to = s.quarter
      where s.state <> 'open' and s.carried_in_micro <> coalesce(b.micro, 0)`,
  },
  {
    name: 'a payout has its entries, and one that failed has them back',
    broken: sql`
      select coalesce(p.id, t.ref_id) || ': ' || coalesce(p.state, 'no such payout') || ', ' || coalesce(t.paid, 0)
        || ' paid and ' || coalesce(t.fee, 0) || ' kept by its entries' as problem
      from referral_payout p full join (
        select ref_id, user_id,
          coalesce(sum(case when to_account like 'house:payouts:%' then amount_micro
            when from_account like 'house:payouts:%' then -amount_micro else 0 end), 0) as paid,
          coalesce(sum(case when to_account like 'house:promotions:%' then amount_micro
            when from_account like 'house:promotions:%' then -amount_micro else 0 end), 0) as fee
        from ledger_transfer where kind = 'payout' group by ref_id, user_id
      ) t on t.ref_id = p.id and t.user_id = p.user_id
      where p.id is null
        or coalesce(t.paid, 0) <> case when p.state = 'failed' then 0 else p.cents::bigint * 10000 end
        or coalesce(t.fee, 0) <> case when p.state = 'failed' then 0 else p.fee_micro end`,
  },
  {
    name: 'a quarter that is paid as money has its one payout, and one that is credited its lot',
    broken: sql`
      select s.user_id || ' in ' || s.quarter || ': ' || s.state || ' with ' || s.net_micro || ' and a fee of '
        || s.fee_micro || ', by its payout ' || coalesce(p.cents, 0) || ' cents, by its lot ' || coalesce(g.amount_micro, 0)
        as problem
      from referral_settlement s
        left join referral_payout p on p.user_id = s.user_id and p.quarter = s.quarter and p.state <> 'failed'
        left join credit_grant g on g.id = s.grant_id and g.user_id = s.user_id and g.kind = 'referral'
      where (s.state in ('paying', 'paid')) <> (p.id is not null) or (s.state = 'paid') <> coalesce(p.state = 'paid', false)
        or p.id is not null and (p.cents::bigint * 10000 <> s.net_micro or p.fee_micro <> s.fee_micro)
        or s.state = 'credited' and g.amount_micro is distinct from s.net_micro`,
  },
]
