import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, currency, timestamp } from './fields.ts'
import { RESUME_LISTED_MAX } from './limits.ts'

/** An instance that was stopped because nothing was left to pay for it, and is not started since (B4). */
export const stoppedUnpaid = z.object({
  instance_id: z.string(),
  name: z.string(),
  gpu_spec_id: z.string(),
  gpu_spec_name: z.string(),
  gpu_count: z.number().int(),
  /** When it was to stop. */
  emptied_at: timestamp,
  /** Whether it starts again by itself once the balance covers it: that was asked for, and it was not given up. */
  resumes: z.boolean(),
  /** Cents that are set aside when it starts; null where its machine is not offered any more. */
  reserve_cents: z.number().int().nullable(),
  /** Whether what is available covers it, together with those before it in the list that are covered. */
  covered: z.boolean(),
  /** Whether it may be started now: one that still stops may not. */
  ready: z.boolean(),
  /** Why it could not be started by itself, as errors say it; null: nothing was tried, or it waits for money. */
  failure: z
    .object({ code: z.string(), values: z.record(z.string(), z.union([z.string(), z.number()])) })
    .nullable(),
  /** When that is tried again; null: it is not before more is added. */
  next_try_at: timestamp.nullable(),
})
z.globalRegistry.add(stoppedUnpaid, { id: 'StoppedUnpaid' })
export type StoppedUnpaid = z.infer<typeof stoppedUnpaid>

/** What starts again after money has come, and what can be started (B4). */
export const resume = z.object({
  currency,
  /** Whether instances that are deployed from now on start again by themselves after a top-up. */
  by_default: z.boolean(),
  /** Of the instances that are there, how many do, and how many there are. */
  asked: z.number().int(),
  instances: z.number().int(),
  /** What can be spent on machines, in cents. */
  available: z.number().int(),
  /** Those that were stopped, in the order of that, which is the order in which they start again. */
  stopped: z.array(stoppedUnpaid).max(RESUME_LISTED_MAX),
  /** How many there are. */
  stopped_count: z.number().int(),
})
z.globalRegistry.add(resume, { id: 'Resume' })
export type Resume = z.infer<typeof resume>

export const getResume = defineCall({
  operation: 'instance.resume',
  method: 'GET',
  path: '/api/instance-resume',
  summary:
    'Which instances stopped for an empty balance, and which start again by themselves after a top-up.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  data: resume,
})

/** What the form of it sends. */
export const resumeBody = z.object({
  by_default: z.boolean(by('wrong_type')),
  /** Whether the same is said of all instances that are there. */
  all: z.boolean(by('wrong_type')).default(false),
})
z.globalRegistry.add(resumeBody, { id: 'ResumeBody' })

export const setResume = defineCall({
  operation: 'instance.set-resume',
  method: 'PUT',
  path: '/api/instance-resume',
  summary: 'Says whether instances start again by themselves after a top-up: new ones, or all of them.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: [] },
  stales: ['instance.resume', 'instance.list', 'instance.page', 'instance.get'],
  body: resumeBody,
  data: resume,
})

export const resumeCalls = [getResume, setResume] as const
