import { getAutoTopup, setAutoTopup } from '@berth/contract/auto-topup'
import {
  cancelTopup,
  getBalance,
  getReceipt,
  getSpend,
  getTopup,
  listOpenTopups,
  listPayPlatforms,
  listTransactions,
  type Transaction,
  topup,
} from '@berth/contract/billing'
import { type BillLine, downloadBill, getBill, getBillLine, getBillMonths } from '@berth/contract/bills'
import { applyCoupon, listCoupons, listCredits } from '@berth/contract/credits'
import {
  getBillingAddress,
  getInvoice,
  getInvoicePdf,
  listInvoices,
  setBillingAddress,
} from '@berth/contract/invoices'
import type { Language } from '@berth/contract/limits'
import { getOutlook } from '@berth/contract/outlook'
import {
  addPaymentMethod,
  beginPayment,
  checkPayable,
  getCheckoutUrl,
  listPaymentMethods,
  removePaymentMethod,
  setPaymentMethod,
} from '@berth/contract/payment-methods'
import { downloadTransactions } from '@berth/contract/transaction-filters'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Billing } from './billing.ts'
import type { InstanceEventsReader } from './documents/receipts.ts'

/** What is known of a customer's instances; it comes from their own domain. */
export interface InstanceReads {
  /** What happened to an instance while it was metered. */
  eventsBetween: InstanceEventsReader
  /** Whether some pod of a customer is on, and is deleted when it stays stopped (R9.6). */
  losesMachines(userId: string): Promise<boolean>
}

/**
 * The calls on money (R7.5).
 * @param billing The domain.
 * @param instances What the instances domain knows of what was metered.
 * @param say How the catalogue's texts are said in a language.
 */
export function billingRoutes(
  billing: Pick<
    Billing,
    | 'balance'
    | 'payPlatforms'
    | 'topUp'
    | 'topup'
    | 'openTopups'
    | 'cancelTopup'
    | 'transactions'
    | 'transactionFile'
    | 'receipt'
    | 'spend'
    | 'outlook'
    | 'billMonths'
    | 'bill'
    | 'billLine'
    | 'billFile'
    | 'invoices'
    | 'redeemCoupon'
    | 'coupons'
    | 'credits'
    | 'methods'
    | 'beginPayment'
    | 'checkoutUrl'
    | 'payable'
    | 'autoTopup'
  >,
  { eventsBetween, losesMachines }: InstanceReads,
  say: Say,
): Route[] {
  const inLanguage = (row: Transaction, language: Language): Transaction => {
    const spec = row.about.gpu_spec_name
    return spec === null ? row : { ...row, about: { ...row.about, gpu_spec_name: say(spec, language) } }
  }
  const ofLanguage = <Row extends { subject: BillLine['subject'] }>(row: Row, language: Language): Row => {
    const spec = row.subject?.gpu_spec_name
    return spec ? { ...row, subject: { ...row.subject, gpu_spec_name: say(spec, language) } } : row
  }
  const { invoices } = billing
  return [
    route(getBalance, ({ caller }) => billing.balance(caller.userId)),
    route(listPayPlatforms, async () =>
      billing.payPlatforms.map(({ name, display_name, test, entry, publishable_key, currencies }) => ({
        platform_name: name,
        display_name,
        test,
        entry,
        publishable_key: publishable_key ?? null,
        currencies: [...currencies],
      })),
    ),
    route(topup, ({ caller, body, idempotencyKey }) =>
      billing.topUp({
        userId: caller.userId,
        idempotencyKey,
        amountCents: body.amount,
        currency: body.currency,
        platformName: body.platform_name,
        source: body.source,
        methodId: body.method_id,
        savesMethod: body.save_method,
        after: body.after,
      }),
    ),
    route(listOpenTopups, ({ caller }) => billing.openTopups(caller.userId)),
    route(getTopup, ({ caller, params }) => billing.topup(caller.userId, params.id)),
    route(cancelTopup, ({ caller, params }) => billing.cancelTopup(caller.userId, params.id)),
    route(listTransactions, async ({ caller, query, language }) => {
      const page = await billing.transactions(caller.userId, query)
      return { ...page, items: page.items.map(row => inLanguage(row, language)) }
    }),
    route(downloadTransactions, ({ caller, query, language }) =>
      billing.transactionFile(caller.userId, query, {
        language,
        said: row => inLanguage(row, language),
      }),
    ),
    route(getReceipt, async ({ caller, params, language }) => {
      const receipt = await billing.receipt(caller.userId, params.id, eventsBetween)
      return { ...receipt, transaction: inLanguage(receipt.transaction, language) }
    }),
    route(getOutlook, ({ caller }) => billing.outlook(caller.userId, losesMachines)),
    ...methodRoutes(billing),
    route(getSpend, ({ caller, query }) => billing.spend(caller.userId, query.days)),
    route(getBillMonths, ({ caller }) => billing.billMonths(caller.userId)),
    route(getBill, async ({ caller, query, language }) => {
      const bill = await billing.bill(caller.userId, query)
      return { ...bill, items: bill.items.map(line => ofLanguage(line, language)) }
    }),
    route(getBillLine, async ({ caller, query, language }) => {
      const opened = await billing.billLine(caller.userId, query, eventsBetween)
      const items = opened.items.map(stretch => ofLanguage(stretch, language))
      return { ...opened, line: ofLanguage(opened.line, language), items }
    }),
    route(downloadBill, ({ caller, query, language }) => billing.billFile(caller.userId, query, language)),
    route(listInvoices, ({ caller, query }) => invoices.list(caller.userId, query)),
    route(getInvoice, ({ caller, params }) => invoices.read(caller.userId, params.id)),
    route(getInvoicePdf, ({ caller, params, query }) =>
      invoices.pdfLink(caller.userId, params.id, query.language),
    ),
    route(getBillingAddress, ({ caller }) => invoices.address(caller.userId)),
    route(setBillingAddress, ({ caller, body }) => invoices.setAddress(caller.userId, body)),
    route(listCoupons, ({ caller, query }) => billing.coupons(caller.userId, query)),
    route(applyCoupon, ({ caller, body, idempotencyKey }) =>
      billing.redeemCoupon({ userId: caller.userId, idempotencyKey, code: body.code }),
    ),
    route(listCredits, ({ caller, query }) => billing.credits(caller.userId, query)),
  ]
}

/** The calls on what is kept to pay with, and on what charges it by itself. */
function methodRoutes(
  billing: Pick<Billing, 'methods' | 'beginPayment' | 'checkoutUrl' | 'payable' | 'autoTopup'>,
): Route[] {
  const { methods, autoTopup } = billing
  return [
    route(listPaymentMethods, ({ caller }) => methods.listFresh(caller.userId)),
    route(addPaymentMethod, ({ caller, body }) =>
      methods.add(caller.userId, { platformName: body.platform_name, source: body.source }),
    ),
    route(setPaymentMethod, ({ caller, params, body }) =>
      methods.makeDefault(caller.userId, params.id, {
        platformName: body.platform_name,
        source: body.source,
      }),
    ),
    route(removePaymentMethod, ({ caller, params }) => methods.remove(caller.userId, params.id)),
    route(beginPayment, ({ caller, body, idempotencyKey }) =>
      billing.beginPayment({
        userId: caller.userId,
        idempotencyKey,
        paymentMethod: body.payment_method,
        amountCents: body.amount,
        currency: body.currency,
        platformName: body.platform_name,
      }),
    ),
    route(getCheckoutUrl, ({ caller, query }) => billing.checkoutUrl(caller.userId, query.transaction_id)),
    route(checkPayable, ({ caller }) => billing.payable(caller.userId)),
    route(getAutoTopup, ({ caller }) => autoTopup.get(caller.userId)),
    route(setAutoTopup, ({ caller, body }) => autoTopup.set(caller.userId, body)),
  ]
}
