import type { RefundFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

type Outcome = RefundFacts['outcome']

interface Values {
  outcome: Outcome
  at: string
  /** With its currency's sign. */
  amount: string
  /** What was paid with, as `cardText` says it. */
  paidWith: string
  /** The transaction's, as the list shows it. */
  number: string
}

type Words = Record<Outcome, (values: { brand: string; amount: string }) => string>

const SUBJECTS: Record<'en' | 'zh' | 'ja' | 'ko', Words> = {
  en: {
    given_back: ({ brand, amount }) => `Your ${brand} refund of ${amount}`,
    came_back: ({ brand, amount }) => `Your ${brand} refund of ${amount} failed`,
    disputed: ({ brand, amount }) => `A ${brand} payment of ${amount} is disputed`,
    dispute_won: ({ brand, amount }) => `The dispute over ${amount} at ${brand} has ended`,
  },
  zh: {
    given_back: ({ brand, amount }) => `您的 ${brand} 退款 ${amount}`,
    came_back: ({ brand, amount }) => `您的 ${brand} 退款 ${amount} 未成功`,
    disputed: ({ brand, amount }) => `您向 ${brand} 支付的 ${amount} 存在争议`,
    dispute_won: ({ brand, amount }) => `您在 ${brand} 的 ${amount} 付款争议已结束`,
  },
  ja: {
    given_back: ({ brand, amount }) => `${brand} からの返金 ${amount}`,
    came_back: ({ brand, amount }) => `${brand} からの返金 ${amount} が届きませんでした`,
    disputed: ({ brand, amount }) => `${brand} へのお支払い ${amount} に異議申し立てがありました`,
    dispute_won: ({ brand, amount }) => `${brand} へのお支払い ${amount} の異議申し立てが終わりました`,
  },
  ko: {
    given_back: ({ brand, amount }) => `${brand} 환불 ${amount}`,
    came_back: ({ brand, amount }) => `${brand} 환불 ${amount} 실패`,
    disputed: ({ brand, amount }) => `${brand} 결제 ${amount}에 이의가 제기되었습니다`,
    dispute_won: ({ brand, amount }) => `${brand} 결제 ${amount}의 이의 제기가 종료되었습니다`,
  },
}

const WHAT_HAPPENED: typeof SUBJECTS = {
  en: {
    given_back: ({ brand, amount }) =>
      `${amount} of a payment to your ${brand} account was given back. It was taken off your balance; what had been spent already is owed and is paid by your next top-up.`,
    came_back: ({ brand, amount }) =>
      `${amount} that was to be given back did not arrive and came back to us. It is in your ${brand} account again, less what you owed of it.`,
    disputed: ({ brand, amount }) =>
      `A bank took back ${amount} of a payment to your ${brand} account, because the payment is disputed there. It was taken off your balance until that is decided; what had been spent already is owed and is paid by your next top-up.`,
    dispute_won: ({ brand, amount }) =>
      `The bank gave back ${amount} of a payment that was disputed. It is in your ${brand} account again, less what you owed of it.`,
  },
  zh: {
    given_back: ({ brand, amount }) =>
      `您 ${brand} 账户的一笔付款已退回 ${amount}，并已从余额中扣除；此前已花费的部分记为欠款，将由下次充值偿还。`,
    came_back: ({ brand, amount }) =>
      `应退回的 ${amount} 未能到账，款项已退回给我们，并重新计入您的 ${brand} 账户（先抵扣其中的欠款）。`,
    disputed: ({ brand, amount }) =>
      `由于付款存在争议，银行收回了您 ${brand} 账户一笔付款中的 ${amount}。在争议裁定之前，该金额已从余额中扣除；此前已花费的部分记为欠款，将由下次充值偿还。`,
    dispute_won: ({ brand, amount }) =>
      `银行已退还争议付款中的 ${amount}，并重新计入您的 ${brand} 账户（先抵扣其中的欠款）。`,
  },
  ja: {
    given_back: ({ brand, amount }) =>
      `${brand} アカウントへのお支払いのうち ${amount} が返金されました。残高から差し引き、使用済みの分は未払いとして次のチャージから充当します。`,
    came_back: ({ brand, amount }) =>
      `返金した ${amount} が届かず、当方に戻りました。未払い分に充てた残りを ${brand} アカウントの残高に戻しました。`,
    disputed: ({ brand, amount }) =>
      `お支払いに異議が申し立てられたため、${brand} アカウントへのお支払いのうち ${amount} を銀行が引き戻しました。結論が出るまで残高から差し引き、使用済みの分は未払いとして次のチャージから充当します。`,
    dispute_won: ({ brand, amount }) =>
      `異議申し立てのあったお支払いのうち ${amount} が銀行から戻りました。未払い分に充てた残りを ${brand} アカウントの残高に戻しました。`,
  },
  ko: {
    given_back: ({ brand, amount }) =>
      `${brand} 계정으로 결제한 금액 중 ${amount}가 환불되어 잔액에서 빠졌습니다. 이미 사용한 금액은 미납으로 남으며 다음 충전액에서 먼저 갚습니다.`,
    came_back: ({ brand, amount }) =>
      `환불한 ${amount}가 전달되지 않아 저희에게 돌아왔습니다. 그중 미납액을 갚고 남은 금액은 ${brand} 계정의 잔액으로 되돌렸습니다.`,
    disputed: ({ brand, amount }) =>
      `결제에 이의가 제기되어 은행이 ${brand} 계정 결제 금액 중 ${amount}를 회수했습니다. 결론이 날 때까지 잔액에서 빠지며, 이미 사용한 금액은 미납으로 남아 다음 충전액에서 먼저 갚습니다.`,
    dispute_won: ({ brand, amount }) =>
      `이의가 제기된 결제 금액 중 ${amount}를 은행이 돌려주었습니다. 그중 미납액을 갚고 남은 금액은 ${brand} 계정의 잔액으로 되돌렸습니다.`,
  },
}

/** The mail about a payment that was given back or disputed, and about what of it came to us again. */
export const REFUND_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: values => SUBJECTS.en[values.outcome](values),
    body: ({ link, at, paidWith, number, ...values }) => [
      'Hello,',
      WHAT_HAPPENED.en[values.outcome](values),
      [
        `Amount: ${values.amount}`,
        `${goes(values) ? 'To' : 'Paid with'}: ${paidWith}`,
        `Time: ${at}`,
        `Transaction: ${number}`,
      ].join('\n'),
      'All transactions with their receipts are listed here:',
      link,
    ],
  },
  zh: {
    subject: values => SUBJECTS.zh[values.outcome](values),
    body: ({ link, at, paidWith, number, ...values }) => [
      '您好！',
      WHAT_HAPPENED.zh[values.outcome](values),
      [
        `金额：${values.amount}`,
        `${goes(values) ? '退至' : '付款方式'}：${paidWith}`,
        `时间：${at}`,
        `交易编号：${number}`,
      ].join('\n'),
      '所有交易及收据请见：',
      link,
    ],
  },
  ja: {
    subject: values => SUBJECTS.ja[values.outcome](values),
    body: ({ link, at, paidWith, number, ...values }) => [
      'こんにちは。',
      WHAT_HAPPENED.ja[values.outcome](values),
      [
        `金額: ${values.amount}`,
        `${goes(values) ? '返金先' : 'お支払い方法'}: ${paidWith}`,
        `日時: ${at}`,
        `取引番号: ${number}`,
      ].join('\n'),
      'すべての取引と領収の明細はこちらでご覧いただけます。',
      link,
    ],
  },
  ko: {
    subject: values => SUBJECTS.ko[values.outcome](values),
    body: ({ link, at, paidWith, number, ...values }) => [
      '안녕하세요.',
      WHAT_HAPPENED.ko[values.outcome](values),
      [
        `금액: ${values.amount}`,
        `${goes(values) ? '환불처' : '결제 수단'}: ${paidWith}`,
        `시각: ${at}`,
        `거래 번호: ${number}`,
      ].join('\n'),
      '모든 거래와 영수증은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}

/** Whether the money was on its way to where it was paid from. */
function goes({ outcome }: Pick<Values, 'outcome'>): boolean {
  return outcome === 'given_back' || outcome === 'came_back'
}
