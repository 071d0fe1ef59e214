/**
 * Reads that are old whenever money moves, or something begins or ceases to cost: every call that does either names
 * all of them among its `stales`. A read that shows money is added here, once.
 */
export const MONEY_READS = [
  'bill.balance',
  'bill.transaction',
  'bill.transaction-download',
  'bill.transaction-receipt',
  'bill.spend',
  'bill.outlook',
  'bill.budgets',
  'bill.bill-duration',
  'bill.order',
  'bill.order-line',
  'bill.order-download',
  'bill.invoice',
  'bill.coupon',
  'bill.credit',
  'bill.check-payable',
  'instance.resume',
] as const
