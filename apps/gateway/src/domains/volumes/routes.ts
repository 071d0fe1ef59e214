import type { Language } from '@berth/contract/limits'
import {
  deleteSnapshot,
  listSnapshots,
  restoreSnapshot,
  scheduleSnapshots,
  takeSnapshot,
} from '@berth/contract/volume-snapshots'
import {
  createVolume,
  deleteVolume,
  editVolume,
  getVolumePrice,
  growVolume,
  listVolumes,
  type Volume,
} from '@berth/contract/volumes'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Volumes } from './volumes.ts'

/**
 * The calls on network volumes.
 * @param volumes The domain.
 * @param say How the catalogue's texts are said in a language.
 */
export function volumesRoutes(volumes: Volumes, say: Say): Route[] {
  const said = <Named extends { region_name: string }>(one: Named, language: Language): Named => ({
    ...one,
    region_name: say(one.region_name, language),
  })
  return [
    route(getVolumePrice, async ({ caller, query, language }) => {
      const price = await volumes.price(caller.userId, { sizeGb: query.size_gb, id: query.id })
      return { ...price, regions: price.regions.map(region => said(region, language)) }
    }),
    route(listVolumes, async ({ caller, query, language }) => {
      const own = await volumes.list(caller.userId, query.region_code)
      return own.map((one): Volume => said(one, language))
    }),
    route(createVolume, async ({ caller, idempotencyKey, body, language }) =>
      said(await volumes.create({ userId: caller.userId, idempotencyKey, body }), language),
    ),
    route(editVolume, async ({ caller, body, language }) =>
      said(await volumes.rename(caller.userId, body.id, body.name), language),
    ),
    route(growVolume, async ({ caller, idempotencyKey, params, body, language }) => {
      const target = { userId: caller.userId, id: params.id, idempotencyKey }
      return said(await volumes.grow(target, body.size_gb), language)
    }),
    route(deleteVolume, async ({ caller, params, query, language }) =>
      said(await volumes.remove(caller.userId, params.id, query.name), language),
    ),
    route(listSnapshots, async ({ caller, params }) => volumes.snapshots.list(caller.userId, params.id)),
    route(takeSnapshot, async ({ caller, idempotencyKey, params }) =>
      volumes.snapshots.take({ userId: caller.userId, volumeId: params.id, idempotencyKey }),
    ),
    route(deleteSnapshot, async ({ caller, params }) =>
      volumes.snapshots.remove(caller.userId, params.id, params.snapshot_id),
    ),
    route(restoreSnapshot, async ({ caller, idempotencyKey, params, body, language }) => {
      const which = { userId: caller.userId, volumeId: params.id, id: params.snapshot_id }
      const made = await volumes.snapshots.restore({ ...which, idempotencyKey, body })
      return said(await volumes.toVolume(made), language)
    }),
    route(scheduleSnapshots, async ({ caller, params, body }) =>
      volumes.snapshots.schedule(caller.userId, params.id, body),
    ),
  ]
}
