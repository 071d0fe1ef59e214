import { USAGE_KINDS, type UsageKind } from '@berth/contract/usage-kinds'
import { type SQL, sql } from 'drizzle-orm'
import { TRAFFIC_SKUS } from '../../../platform/config/skus.ts'
import type { Subject } from '../subject.ts'

/** What usage of a subject is of. An instance's depends on what ran. */
const OF_SUBJECTS: Record<Exclude<Subject['kind'], 'instance'>, UsageKind> = {
  network_volume: 'volume',
  volume_snapshot: 'snapshot',
  image: 'image',
  public_ip: 'public_ip',
  model_call: 'model',
}

/** SKUs of disks begin so: where one is the main meter, the machine was off. */
const DISK_SKUS = 'disk.'

/**
 * What a stretch of usage is of, in SQL: the one place that says so for transactions, bills and spending.
 * @param subjectKind The column with the subject's kind.
 * @param sku The column with the SKU of its main meter; may be null.
 */
export function usageKindSql(subjectKind: SQL, sku: SQL): SQL {
  const others = Object.entries(OF_SUBJECTS).map(([kind, usage]) => sql.raw(`when '${kind}' then '${usage}'`))
  return sql`case ${subjectKind} ${sql.join(others, sql` `)}
    else case when starts_with(coalesce(${sku}, ''), ${sql.raw(`'${DISK_SKUS}'`)}) then 'disk'
      when starts_with(coalesce(${sku}, ''), ${sql.raw(`'${TRAFFIC_SKUS}'`)}) then 'traffic' else 'compute' end end`
}

/** Where a kind stands among all, in SQL. */
export function kindPlaceSql(kind: SQL): SQL {
  return sql`array_position(${sql.raw(`array[${USAGE_KINDS.map(one => `'${one}'`).join(', ')}]`)}, ${kind})`
}
