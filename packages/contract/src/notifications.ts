import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { ALERT_HOURS_CHOICES } from './limits.ts'

/**
 * The mails that a customer may switch off. Mails that guard the account (activation, a new password, a sign-in
 * method that was linked) are always sent.
 */
export const NOTICE_KINDS = [
  'new_sign_in',
  'key_added',
  'top_up_receipt',
  'instance_trouble',
  'balance_low',
  'offer_watch',
] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

const wanted = z.boolean(by('wrong_type'))

/** What a customer wants to be told by mail. */
export const notificationChoice = z.object({
  mails: z.object(
    {
      /** Somebody signed in from a browser or network that the account has not seen. */
      new_sign_in: wanted,
      /** An SSH key, registry credential or API key was added. */
      key_added: wanted,
      /** A top-up was paid, or given back. */
      top_up_receipt: wanted,
      /** An instance failed, was stopped because the balance was used up, or its term ends. */
      instance_trouble: wanted,
      /** The balance lasts for no more than one of the chosen hours, or auto top-up could not fill it. */
      balance_low: wanted,
      /** A watched offer is back, was deployed, or could not be. */
      offer_watch: wanted,
    } satisfies Record<NoticeKind, typeof wanted>,
    by('required'),
  ),
  /** Hours left at which `balance_low` is sent, once for each; most first. */
  alert_hours: z
    .array(z.literal([...ALERT_HOURS_CHOICES], by('not_allowed')), by('wrong_type'))
    .max(ALERT_HOURS_CHOICES.length, by('too_long'))
    .transform(hours => [...new Set(hours)].sort((a, b) => b - a)),
})
z.globalRegistry.add(notificationChoice, { id: 'NotificationChoice' })
export type NotificationChoice = z.output<typeof notificationChoice>

export const getNotifications = defineCall({
  operation: 'notification.get',
  method: 'GET',
  path: '/api/notification',
  summary: 'Which mails the customer wants.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: notificationChoice,
})

export const setNotifications = defineCall({
  operation: 'notification.set',
  method: 'PUT',
  path: '/api/notification',
  summary: 'Says which mails the customer wants; data is what is kept now.',
  audience: 'user',
  timeout: 'normal',
  // What was chosen is kept, whatever page is looked at by then.
  audit: { target: [] },
  stales: ['notification.get'],
  body: notificationChoice,
  data: notificationChoice,
})

export const notificationCalls = [getNotifications, setNotifications] as const
