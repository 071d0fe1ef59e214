import { type Snapshot, snapshot, type VolumeSnapshots } from '@berth/contract/volume-snapshots'
import { type Volume, volume } from '@berth/contract/volumes'
import { sampleOf } from '../../schema-fixture.ts'

/** A volume for a test: 100 GB that are ready, at 0.16 a day, and nobody has it. */
export function madeVolume(part: Partial<Volume> = {}): Volume {
  return {
    ...(sampleOf(volume) as Volume),
    id: 'v-000000',
    name: 'datasets',
    region_code: 'us-west',
    region_name: 'us-west',
    size_gb: 100,
    wanted_gb: 100,
    status: 'ready',
    reason: null,
    kind: 'files',
    shared: true,
    size_enforced: false,
    used_bytes: null,
    measured_at: null,
    measure_trouble: null,
    near_full: false,
    over_since: null,
    read_only_on: null,
    read_only: false,
    attached_to: [],
    snapshots: 0,
    currency: 'USD',
    micro_per_day: '160000',
    cost_micro: '320000',
    unpaid_since: null,
    deleted_on: null,
    ...part,
  }
}

/** A snapshot for a test: 4 GB that were copied by hand, at 0.0064 a day. */
export function madeSnapshot(part: Partial<Snapshot> = {}): Snapshot {
  return {
    ...(sampleOf(snapshot) as Snapshot),
    id: 's-000000',
    volume_id: 'v-000000',
    status: 'ready',
    reason: null,
    made_by: 'hand',
    taken_at: '2026-11-20T10:00:00.000Z',
    in_use: false,
    used_bytes: 4_000_000_000,
    size_gb: 4,
    currency: 'USD',
    micro_per_day: '6400',
    cost_micro: '6400',
    created_at: '2026-11-20T09:59:00.000Z',
    ...part,
  }
}

/** What is said of a volume's snapshots: one, no schedule, 83 GB that it holds. */
export function madeSnapshots(
  part: Partial<VolumeSnapshots> = {},
  schedule: Partial<VolumeSnapshots['schedule']> = {},
): VolumeSnapshots {
  return {
    snapshots: [madeSnapshot()],
    currency: 'USD',
    micro_per_gb_day: '1600',
    expected_gb: 83,
    by_hand_left: 9,
    ...part,
    schedule: {
      ...{ every: 'off', hour: 3, weekday: 0, keep: 7, next_at: null, skipped_at: null, skipped: null },
      ...schedule,
    },
  }
}
