import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { INSTANCE_STATUSES } from './instance-states.ts'
import { instance, instanceId } from './instances.ts'
import {
  CURSOR_CHARS_MAX,
  INSTANCE_IDS_MAX,
  INSTANCE_PAGE_SIZE_DEFAULT,
  INSTANCE_PAGE_SIZE_MAX,
  INSTANCE_SEARCH_CHARS_MAX,
} from './limits.ts'

const ID_CHARS_MAX = 14
const STATUS_CHARS_MAX = Math.max(...INSTANCE_STATUSES.map(status => status.length))

/** A field of a query that holds some of many, with commas between. */
const several = <Item extends z.ZodType<unknown, string>>(item: Item, max: number, itemCharsMax: number) =>
  z
    .string(by('wrong_type'))
    .max(max * (itemCharsMax + 1), by('too_long'))
    .transform(given => given.split(','))
    .pipe(z.array(item).max(max, by('too_large')))

/** A page of instances. Read by cursor, a row that is there all the time comes once, whatever comes and goes meanwhile. */
export const instanceSlice = z.object({
  items: z.array(instance),
  /** Where the next page begins, for a call with the same filters; null on the last one. */
  next_cursor: z.string().nullable(),
  /** How many there are on all pages, as the first page was read; null on later ones. */
  total: z.number().int().nullable(),
})
z.globalRegistry.add(instanceSlice, { id: 'InstanceSlice' })

export const pageInstances = defineCall({
  operation: 'instance.page',
  method: 'GET',
  path: '/api/instance/page',
  summary:
    "A page of the customer's instances, newest first. The next one begins at `next_cursor`, asked for with the same filters.",
  audience: 'user',
  timeout: 'normal',
  retry: true,
  query: z.object({
    /** `next_cursor` of the page before; left out: the first page. */
    cursor: z.string(by('wrong_type')).max(CURSOR_CHARS_MAX, by('too_long')).optional(),
    limit: z.coerce
      .number(by('not_a_number'))
      .int(by('not_whole'))
      .min(1, by('too_small'))
      .max(INSTANCE_PAGE_SIZE_MAX, by('too_large'))
      .default(INSTANCE_PAGE_SIZE_DEFAULT),
    /** Only instances in one of these statuses: `running,stopped`. */
    status: several(
      z.enum(INSTANCE_STATUSES, by('not_allowed')),
      INSTANCE_STATUSES.length,
      STATUS_CHARS_MAX,
    ).optional(),
    /** Only instances in whose name, id or image this stands, whatever its case. */
    search: z.string(by('wrong_type')).max(INSTANCE_SEARCH_CHARS_MAX, by('too_long')).default(''),
    /** Only these, as far as they are there, with commas between: for who follows some of many. */
    instance_id: several(instanceId, INSTANCE_IDS_MAX, ID_CHARS_MAX).optional(),
  }),
  data: instanceSlice,
})

export const instancePagingCalls = [pageInstances] as const
