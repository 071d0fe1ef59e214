import { sql } from 'drizzle-orm'
import type { Rule } from '../ledger/book-rule.ts'

/** The rules of credits and coupons (B2, R3.8). */
export const CREDIT_RULES: Rule[] = [
  {
    name: "a customer's credits are what is left of their lots",
    broken: sql`
      select a.user_id || ': ' || a.balance_micro || ' in the account, ' || coalesce(lots.micro, 0) || ' in the lots'
        as problem
      from ledger_account a left join (
        select user_id, sum(rest_micro) as micro from credit_grant group by user_id
      ) lots on lots.user_id = a.user_id
      where a.kind = 'credits' and a.balance_micro <> coalesce(lots.micro, 0)`,
  },
  {
    name: 'a lot is what was used of it, what ended of it and what is left',
    broken: sql`
      select g.id || ': ' || g.amount_micro || ' given, ' || coalesce(u.micro, 0) || ' used, ' || coalesce(e.micro, 0)
        || ' ended, ' || g.rest_micro || ' left' as problem
      from credit_grant g
      left join (select grant_id, user_id, sum(amount_micro) as micro from credit_use group by 1, 2) u
        on u.grant_id = g.id and u.user_id = g.user_id
      left join (select grant_id, user_id, sum(amount_micro) as micro from credit_end group by 1, 2) e
        on e.grant_id = g.id and e.user_id = g.user_id
      where g.amount_micro <> coalesce(u.micro, 0) + coalesce(e.micro, 0) + g.rest_micro`,
  },
  {
    name: 'the credits of a stretch are those of the lots that it used',
    broken: sql`
      select coalesce(i.id, u.interval_id) || ': ' || coalesce(i.credits_micro, 0) || ' by the stretch, '
        || coalesce(u.micro, 0) || ' by the lots' as problem
      from usage_interval i full join (
        select interval_id, user_id, sum(amount_micro) as micro from credit_use group by 1, 2
      ) u on u.interval_id = i.id and u.user_id = i.user_id
      where coalesce(i.credits_micro, 0) <> coalesce(u.micro, 0)`,
  },
  {
    name: 'credits for models paid for models alone',
    broken: sql`
      select g.id || ': ' || i.subject_kind || ' ' || i.subject_id as problem
      from credit_use u join credit_grant g on g.id = u.grant_id join usage_interval i on i.id = u.interval_id
      where g.models_only and u.amount_micro > 0 and (i.subject_kind <> 'model_call' or i.charge <> 'once')`,
  },
  {
    name: 'an end of credits has its one entry',
    broken: sql`
      select coalesce(e.id, t.ref_id) || ': ' || coalesce(t.count, 0) || ' entries of ' || coalesce(t.micro, 0)
        as problem
      from credit_end e full join (
        select ref_id, user_id, count(*), sum(amount_micro) as micro
        from ledger_transfer where kind = 'credit_end' group by ref_id, user_id
      ) t on t.ref_id = e.id and t.user_id = e.user_id
      where e.id is null or coalesce(t.count, 0) <> 1 or t.micro <> e.amount_micro`,
  },
  {
    name: 'of credits that have ended, no more is left than is set aside',
    broken: sql`
      select kept.user_id || ': ' || kept.micro || ' left, ' || coalesce(held.micro, 0) || ' set aside' as problem
      from (
        select user_id, sum(rest_micro) as micro from credit_grant
        where ended_at is not null and not models_only group by user_id
      ) kept left join (
        select user_id, sum(amount_micro - used_micro) as micro from wallet_hold
        where released_at is null group by user_id
      ) held on held.user_id = kept.user_id
      where kept.micro > coalesce(held.micro, 0)
      union all
      select id || ': ' || rest_micro || ' left for models' from credit_grant
      where ended_at is not null and models_only and rest_micro > 0`,
  },
  {
    name: 'a coupon was redeemed as often as it says, and gave its amount each time',
    broken: sql`
      select c.code || ': ' || c.redeemed || ' by its row, ' || coalesce(r.count, 0) || ' redeemed, of which '
        || coalesce(r.whole, 0) || ' gave its amount' as problem
      from coupon c left join (
        select r.coupon_id, count(*) as count, count(*) filter (where g.kind = 'coupon' and g.user_id = r.user_id
          and g.amount_micro = c.amount_micro and r.nth <= c.per_customer_max) as whole
        from coupon_redemption r join coupon c on c.id = r.coupon_id join credit_grant g on g.id = r.grant_id
        group by r.coupon_id
      ) r on r.coupon_id = c.id
      where c.redeemed <> coalesce(r.count, 0) or c.redeemed <> coalesce(r.whole, 0)
      union all
      select g.id || ': a lot of a coupon that nobody redeemed' from credit_grant g
      where g.kind = 'coupon' and not exists (select 1 from coupon_redemption r where r.grant_id = g.id)`,
  },
]
