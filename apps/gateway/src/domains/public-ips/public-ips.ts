import { and, asc, eq, gt, inArray, isNotNull, not, or, sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { notify } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Ids } from '../../platform/ids.ts'
import { type PortTroubles, publicIp } from './tables.ts'

export type { PortTroubles } from './tables.ts'

/** Told when somebody gets an address or gives it back, and when a gateway leaves it: the payload is the address. */
export const PUBLIC_IP_CHANNEL = 'public_ip'

type Row = typeof publicIp.$inferSelect

/** An address that an instance has for itself. */
export interface BoundIp {
  id: string
  address: string
  listen: string
  instanceId: string
  userId: string
  microPerHour: bigint
  costsFrom: Date | null
  unpaidSince: Date | null
  unpaidNoticeDay: number | null
}

/** An address at which this gateway listens, and who has it now. */
export interface ServedIp {
  address: string
  listen: string
  bound: { instanceId: string; userId: string } | null
}

export type PublicIps = ReturnType<typeof createPublicIps>

/** Addresses that are looked at in one statement, in the order in which all lock them. */
const inOrder = asc(publicIp.address)

/**
 * Addresses that instances may have for themselves. They live in the database alone, so that any number of gateways give
 * them and take them back, each under the lock of the row concerned: the last of all locks, after the stock's.
 */
export function createPublicIps(deps: {
  db: Database
  clock: Clock
  ids: Ids
  catalogue: Pick<Catalogue, 'regions' | 'prices'>
}) {
  const { db, clock, ids, catalogue } = deps
  /** Somebody listens there, or would: an address that no gateway has is given to nobody. */
  const isServed = sql`coalesce(${publicIp.servedUntil} > now(), false)`

  return {
    /** What a new one costs by the hour, in micro-units. */
    get microPerHour(): bigint {
      return catalogue.prices.public_ip_micro_per_hour
    },

    /** Writes down which addresses there are. Who has one keeps it. */
    async seed(): Promise<void> {
      const offered = catalogue.regions.flatMap(({ code, public_ips }) =>
        public_ips.map(ip => ({ ...ip, regionCode: code, offered: true })),
      )
      await db.transaction(async tx => {
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('public_ip', 0))`)
        await tx.select().from(publicIp).orderBy(inOrder).for('update')
        await tx.update(publicIp).set({ offered: false }).where(eq(publicIp.offered, true))
        if (offered.length === 0) return
        await tx
          .insert(publicIp)
          .values(offered)
          .onConflictDoUpdate({
            target: publicIp.address,
            set: {
              offered: true,
              regionCode: sql`excluded.region_code`,
              listen: sql`excluded.listen`,
            },
          })
      })
    },

    /** How many of a region's addresses some gateway has, and how many of those nobody has taken. */
    async level(q: Queryable, regionCode: string): Promise<{ total: number; available: number }> {
      const [row] = await q
        .select({
          total: sql<number>`count(*)::int`,
          available: sql<number>`count(*) filter (where ${publicIp.id} is null)::int`,
        })
        .from(publicIp)
        .where(and(eq(publicIp.regionCode, regionCode), eq(publicIp.offered, true), isServed))
      return row ?? { total: 0, available: 0 }
    },

    /**
     * Gives an instance an address of its own: of those that nobody has, the one that was given back first.
     * @param wanted.microPerHour What it costs, as its customer was told.
     * @throws ApiError `public_ip_sold_out`, or `public_ip_bound` where it has one.
     */
    async take(
      tx: Transaction,
      wanted: { regionCode: string; instanceId: string; userId: string; microPerHour: bigint },
    ): Promise<BoundIp> {
      const { regionCode, instanceId, userId, microPerHour } = wanted
      const offered = and(eq(publicIp.regionCode, regionCode), eq(publicIp.offered, true), isServed)
      // All of them are locked, in one order: whoever waits sees then what is left.
      const rows = await tx.select().from(publicIp).where(offered).orderBy(inOrder).for('update')
      const free = rows.filter(({ id }) => id === null).toSorted(byFallow)
      const [next] = free
      if (await boundTo(tx, instanceId)) throw new ApiError('public_ip_bound')
      if (!next) throw new ApiError('public_ip_sold_out')
      const [taken] = await tx
        .update(publicIp)
        .set({
          id: ids.uuid(),
          instanceId,
          userId,
          microPerHour,
          boundAt: clock.now(),
          troubles: {},
        })
        .where(eq(publicIp.address, next.address))
        .returning()
      const bound = taken && boundOf(taken)
      if (!bound) throw new Error(`the address ${next.address} vanished under its lock`)
      await notify(tx, PUBLIC_IP_CHANNEL, bound.address)
      return bound
    },

    /** Takes an instance's address back; others may get it from then on. Gives which it was; null where it had none. */
    async giveBack(tx: Transaction, instanceId: string): Promise<BoundIp | null> {
      const [row] = await tx.select().from(publicIp).where(eq(publicIp.instanceId, instanceId)).for('update')
      const bound = row && boundOf(row)
      if (!bound) return null
      const nobody = { id: null, instanceId: null, userId: null, microPerHour: null, boundAt: null }
      await tx
        .update(publicIp)
        .set({
          ...nobody,
          costsFrom: null,
          unpaidSince: null,
          unpaidNoticeDay: null,
          freedAt: clock.now(),
          troubles: {},
        })
        .where(eq(publicIp.address, bound.address))
      await notify(tx, PUBLIC_IP_CHANNEL, bound.address)
      return bound
    },

    /** Notes since when an instance's address costs. */
    async noteCost(tx: Transaction, instanceId: string, from: Date): Promise<void> {
      await tx.update(publicIp).set({ costsFrom: from }).where(eq(publicIp.instanceId, instanceId))
    },

    /** A page of the addresses that cost something, by address. @param after The last one of the page before. */
    async costing(after: string | null, limit: number): Promise<BoundIp[]> {
      const rows = await db
        .select()
        .from(publicIp)
        .where(
          and(
            isNotNull(publicIp.id),
            isNotNull(publicIp.costsFrom),
            after === null ? undefined : gt(publicIp.address, after),
          ),
        )
        .orderBy(inOrder)
        .limit(limit)
      return rows.flatMap(row => boundOf(row) ?? [])
    },

    /** Notes since when nothing is left to pay for an instance's address, and what was told of that. */
    async noteUnpaid(
      tx: Transaction,
      instanceId: string,
      noted: Partial<Pick<BoundIp, 'unpaidSince' | 'unpaidNoticeDay'>>,
    ): Promise<void> {
      await tx.update(publicIp).set(noted).where(eq(publicIp.instanceId, instanceId))
    },

    /** The address that an instance has for itself; null where it has none. */
    boundTo,

    /** The addresses of those instances that have one for themselves, by their ids. */
    async boundToAny(q: Queryable, instanceIds: string[]): Promise<Map<string, BoundIp>> {
      if (instanceIds.length === 0) return new Map()
      const rows = await q.select().from(publicIp).where(inArray(publicIp.instanceId, instanceIds))
      return new Map(rows.flatMap(row => boundOf(row) ?? []).map(bound => [bound.instanceId, bound] as const))
    },

    /** The instance that a customer gave an address to; null for an id that is none of theirs. */
    async instanceOf(userId: string, id: string): Promise<string | null> {
      const [row] = await db
        .select({ instanceId: publicIp.instanceId })
        .from(publicIp)
        .where(and(eq(publicIp.id, id), eq(publicIp.userId, userId)))
      return row?.instanceId ?? null
    },

    /** All at which no gateway listens. */
    async unserved(): Promise<{ address: string; listen: string }[]> {
      return db
        .select({ address: publicIp.address, listen: publicIp.listen })
        .from(publicIp)
        .where(and(or(eq(publicIp.offered, true), isNotNull(publicIp.id)), not(isServed)))
        .orderBy(inOrder)
    },

    /**
     * Says that a gateway listens at addresses of its computer: at those named, where no other one does.
     * @param lasts How long that holds, in ms, unless it is said again.
     * @returns All that it listens at now.
     */
    async serve(gatewayId: string, addresses: string[], lasts: number): Promise<ServedIp[]> {
      if (addresses.length === 0) return []
      const rows = await db
        .update(publicIp)
        .set({
          servedBy: gatewayId,
          servedUntil: sql`now() + make_interval(secs => ${lasts / 1_000})`,
          troubles: sql`case when ${publicIp.servedBy} = ${gatewayId} then ${publicIp.troubles} else '{}'::jsonb end`,
        })
        .where(
          inArray(
            publicIp.address,
            db
              .select({ address: publicIp.address })
              .from(publicIp)
              .where(
                and(
                  inArray(publicIp.address, addresses),
                  or(eq(publicIp.servedBy, gatewayId), not(isServed)),
                ),
              )
              .orderBy(inOrder)
              .for('update'),
          ),
        )
        .returning()
      return rows.map(servedOf)
    },

    /** Says that a gateway listens nowhere any more, so that nobody waits for it. */
    async forget(gatewayId: string): Promise<void> {
      await db.transaction(async tx => {
        const left = await tx
          .update(publicIp)
          .set({ servedBy: null, servedUntil: null, troubles: {} })
          .where(eq(publicIp.servedBy, gatewayId))
          .returning({ address: publicIp.address })
        for (const { address } of left) await notify(tx, PUBLIC_IP_CHANNEL, address)
      })
    },

    /** Writes down which ports of an address the gateway that listens there could not open. */
    async noteTroubles(gatewayId: string, address: string, troubles: PortTroubles): Promise<void> {
      await db
        .update(publicIp)
        .set({ troubles })
        .where(and(eq(publicIp.address, address), eq(publicIp.servedBy, gatewayId)))
    },

    /** Which gateway listens at an address, and which ports it could not open; null where none does. */
    async listenerAt(address: string): Promise<{ gatewayId: string; troubles: PortTroubles } | null> {
      const [row] = await db
        .select({ gatewayId: publicIp.servedBy, troubles: publicIp.troubles })
        .from(publicIp)
        .where(and(eq(publicIp.address, address), isServed))
      return row?.gatewayId ? { gatewayId: row.gatewayId, troubles: row.troubles } : null
    },
  }
}

async function boundTo(q: Queryable, instanceId: string): Promise<BoundIp | null> {
  const [row] = await q.select().from(publicIp).where(eq(publicIp.instanceId, instanceId))
  return row ? boundOf(row) : null
}

function boundOf(row: Row): BoundIp | null {
  const { id, instanceId, userId, microPerHour, address, listen, costsFrom, ...unpaid } = row
  if (id === null || instanceId === null || userId === null || microPerHour === null) return null
  const { unpaidSince, unpaidNoticeDay } = unpaid
  return { id, instanceId, userId, microPerHour, address, listen, costsFrom, unpaidSince, unpaidNoticeDay }
}

function servedOf(row: Row): ServedIp {
  const { address, listen, instanceId, userId } = row
  return { address, listen, bound: instanceId !== null && userId !== null ? { instanceId, userId } : null }
}

/** Whoever still knows an address that was another customer's is not to find the next one there at once. */
function byFallow(one: Row, other: Row): number {
  return (one.freedAt?.getTime() ?? 0) - (other.freedAt?.getTime() ?? 0)
}
