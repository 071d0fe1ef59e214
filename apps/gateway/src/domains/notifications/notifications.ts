import type { NoticeKind, NotificationChoice } from '@berth/contract/notifications'
import type { Logger } from 'pino'
import type { MailOutbox } from '../../drivers/mail/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Say } from '../../platform/config/catalogue-words.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { Events } from '../../platform/events/events.ts'
import {
  autoTopupNews,
  creditsEnding,
  disputeWon,
  paymentDisputed,
  paymentRefunded,
  refundFailed,
  topUpPaid,
} from '../billing/events.ts'
import { budgetCrossed } from '../budgets/events.ts'
import { forCustomer } from '../customers/customers.ts'
import { accountDeleted, signedInAnew } from '../identity/events.ts'
import { imageNews } from '../images/events.ts'
import { addressNews, deletionNews, instancesInTrouble, resumeNews, termNews } from '../instances/events.ts'
import { apiKeyCreated, filmNews } from '../models/events.ts'
import { referralNews } from '../referral/events.ts'
import { registryCredentialAdded } from '../registries/events.ts'
import { sshKeyAdded } from '../ssh-keys/events.ts'
import { volumeNews } from '../volumes/events.ts'
import { offerWatchNews } from '../watches/events.ts'
import { type Burning, checkBalances } from './balance-alerts.ts'
import { forgetChoices, readChoice, saveChoice } from './choices.ts'
import type { ReadRecipient } from './facts.ts'
import { defineNotices } from './notice-mails.ts'

export type { Burning } from './balance-alerts.ts'

const LISTENER = 'notifications'

export interface NotificationsDeps {
  db: Database
  clock: Clock
  log: Pick<Logger, 'error'>
  mail: MailOutbox
  events: Pick<Events, 'on'>
  /** Who gets a customer's mails; it comes from the identity domain. */
  recipient: ReadRecipient
  /** Customers who burn money, a page at a time; it comes from the billing domain. */
  burning(after: string | null): Promise<Burning[]>
  /** What of a customer's instances stopped for an empty balance; it comes from the instances domain. */
  stoppedUnpaid(q: Queryable, userId: string): Promise<{ name: string; resumes: boolean }[]>
  /** How the catalogue's texts are said in a language. */
  say: Say
  publicUrl: () => string
  brandName: () => string
}

/**
 * Makes the notifications domain: what customers are told by mail, and whether they want it. It hears what happens by
 * events; whether a mail is wanted is looked up when it goes out.
 */
export function createNotifications(deps: NotificationsDeps) {
  const { db } = deps
  /** Whether a customer wants mails of a kind. */
  const wants = async (userId: string, kind: NoticeKind): Promise<boolean> =>
    (await readChoice(db, userId)).mails[kind]
  const notices = defineNotices({ ...deps, wants })
  tellOfEvents(deps, notices)
  return {
    wants,

    /** What a customer wants; a new account wants all mails (R1.7). */
    get: (userId: string): Promise<NotificationChoice> => readChoice(db, userId),

    /** Keeps what a customer wants. @returns What is kept. @throws ApiError `login_expired` for a deleted account. */
    set: (userId: string, choice: NotificationChoice): Promise<NotificationChoice> =>
      db.transaction(async tx => {
        await forCustomer(tx, userId)
        return await saveChoice(tx, userId, choice)
      }),

    /**
     * Looks at all customers who burn money, after each round of metering, and queues the alerts that are due (B4).
     * @returns How many it queued.
     */
    checkBalances: (signal?: AbortSignal): Promise<number> =>
      checkBalances({ ...deps, queue: notices.balanceLow }, signal),
  }
}
export type Notifications = ReturnType<typeof createNotifications>

/** Queues the mail of what has happened, and forgets who is gone. */
function tellOfEvents(
  { events, stoppedUnpaid }: Pick<NotificationsDeps, 'events' | 'stoppedUnpaid'>,
  notices: ReturnType<typeof defineNotices>,
): void {
  events.on(accountDeleted, LISTENER, (tx, { userId }) => forgetChoices(tx, userId))
  events.on(signedInAnew, LISTENER, notices.newSignIn)
  events.on(topUpPaid, LISTENER, async (tx, facts) =>
    notices.topUpReceipt(tx, { ...facts, stopped: await stoppedUnpaid(tx, facts.userId) }),
  )
  events.on(autoTopupNews, LISTENER, notices.autoTopUp)
  events.on(creditsEnding, LISTENER, (tx, { at: _, ...facts }) => notices.creditsEnding(tx, facts))
  events.on(offerWatchNews, LISTENER, notices.offerWatch)
  const outcomes = {
    given_back: paymentRefunded,
    came_back: refundFailed,
    disputed: paymentDisputed,
    dispute_won: disputeWon,
  } as const
  for (const outcome of ['given_back', 'came_back', 'disputed', 'dispute_won'] as const) {
    events.on(outcomes[outcome], LISTENER, (tx, facts) => notices.refund(tx, { ...facts, outcome }))
  }
  events.on(instancesInTrouble, LISTENER, (tx, { instances, ...facts }) =>
    notices.instanceTrouble(tx, { ...facts, instanceNames: instances.map(({ name }) => name) }),
  )
  events.on(resumeNews, LISTENER, async (tx, { userId, news, instance, failure, nextTryAt }) => {
    if (news === 'started') return
    await notices.resume(tx, { userId, news, instanceName: instance.name, failure, nextTryAt })
  })
  events.on(termNews, LISTENER, (tx, { instance, at: _, ...facts }) =>
    notices.term(tx, { ...facts, instanceName: instance.name }),
  )
  events.on(deletionNews, LISTENER, (tx, { instance, at: _, ...facts }) =>
    notices.deletion(tx, { ...facts, instanceName: instance.name }),
  )
  events.on(addressNews, LISTENER, (tx, { instance, at: _, addressId: __, ...facts }) =>
    notices.address(tx, { ...facts, instanceName: instance.name }),
  )
  events.on(volumeNews, LISTENER, (tx, { volume, ...facts }) =>
    notices.volume(tx, { ...facts, volumeName: volume.name }),
  )
  events.on(imageNews, LISTENER, (tx, { image, ...facts }) =>
    notices.image(tx, { ...facts, imageName: image.name }),
  )
  events.on(filmNews, LISTENER, (tx, { creationId: _, ...facts }) => notices.film(tx, facts))
  events.on(budgetCrossed, LISTENER, (tx, { at: _, ...facts }) => notices.budget(tx, facts))
  events.on(referralNews, LISTENER, (tx, { at: _, ...facts }) => {
    const isReceipt = facts.news === 'earned' || facts.news === 'credited' || facts.news === 'paid'
    return isReceipt ? notices.referralEarned(tx, facts) : notices.referral(tx, facts)
  })
  const added = { ssh_key: sshKeyAdded, registry: registryCredentialAdded, api_key: apiKeyCreated } as const
  for (const what of ['ssh_key', 'registry', 'api_key'] as const) {
    events.on(added[what], LISTENER, (tx, facts) => notices.keyAdded(tx, { ...facts, what }))
  }
}
