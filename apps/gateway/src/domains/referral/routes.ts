import { getInvitation } from '@berth/contract/invitation'
import {
  chooseSettlement,
  confirmPaypalAccount,
  downloadReferralOrders,
  downloadReferralRecords,
  getPaypalAccount,
  getReferral,
  listReferralOrders,
  listReferralQuarters,
  listReferralRecords,
  removePaypalAccount,
  resendPaypalMail,
  setPaypalAccount,
} from '@berth/contract/referral'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Referral } from './referral.ts'

/**
 * The calls on referrals (R1.6).
 * @param referral The domain.
 */
export function referralRoutes(referral: Referral): Route[] {
  const { paypal } = referral
  return [
    route(getInvitation, ({ query }) => referral.invitation(query.code)),
    route(getReferral, ({ caller }) => referral.summary(caller.userId)),
    route(listReferralRecords, ({ caller, query }) => referral.records(caller.userId, query)),
    route(downloadReferralRecords, ({ caller, query, language }) =>
      referral.recordFile(caller.userId, query, language),
    ),
    route(listReferralOrders, ({ caller, query }) => referral.orders(caller.userId, query)),
    route(downloadReferralOrders, ({ caller, query, language }) =>
      referral.orderFile(caller.userId, query, language),
    ),
    route(listReferralQuarters, ({ caller, query }) => referral.quarters(caller.userId, query)),
    route(chooseSettlement, ({ caller, params, body }) =>
      referral.choose(caller.userId, params.quarter, body.reward_type),
    ),
    route(getPaypalAccount, ({ caller }) => paypal.get(caller.userId)),
    route(setPaypalAccount, ({ caller, body }) => paypal.set(caller.userId, body.paypal_account)),
    route(confirmPaypalAccount, ({ caller, body }) => paypal.confirm(caller.userId, body.token)),
    route(resendPaypalMail, ({ caller }) => paypal.resend(caller.userId)),
    route(removePaypalAccount, async ({ caller }) => {
      await paypal.remove(caller.userId)
      return null
    }),
  ]
}
