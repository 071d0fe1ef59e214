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
    currency: 'USD',
    micro_per_day: '160000',
    cost_micro: '320000',
    unpaid_since: null,
    deleted_on: null,
    ...part,
  }
}
