import type { RefundFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  outcome: RefundFacts['outcome']
  at: string
  /** With its currency's sign. */
  amount: string
  /** What was paid with, as `cardText` says it. */
  paidWith: string
  /** The transaction's, as the list shows it. */
  number: string
}

/** The mail about a payment that was given back, or could not be. */
export const REFUND_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, amount, outcome }) =>
      outcome === 'given_back'
        ? `Your ${brand} refund of ${amount}`
        : `Your ${brand} refund of ${amount} failed`,
    body: ({ brand, amount, paidWith, at, number, link, outcome }) => [
      'Hello,',
      outcome === 'given_back'
        ? `${amount} of a payment to your ${brand} account was given back. It was taken off your balance; what had been spent already is owed and is paid by your next top-up.`
        : `${amount} that was to be given back did not arrive and came back to us. It is in your ${brand} account again, less what you owed of it.`,
      [`Amount: ${amount}`, `To: ${paidWith}`, `Time: ${at}`, `Transaction: ${number}`].join('\n'),
      'All transactions with their receipts are listed here:',
      link,
    ],
  },
  zh: {
    subject: ({ brand, amount, outcome }) =>
      outcome === 'given_back' ? `您的 ${brand} 退款 ${amount}` : `您的 ${brand} 退款 ${amount} 未成功`,
    body: ({ brand, amount, paidWith, at, number, link, outcome }) => [
      '您好！',
      outcome === 'given_back'
        ? `您 ${brand} 账户的一笔付款已退回 ${amount}，并已从余额中扣除；此前已花费的部分记为欠款，将由下次充值偿还。`
        : `应退回的 ${amount} 未能到账，款项已退回给我们，并重新计入您的 ${brand} 账户（先抵扣其中的欠款）。`,
      [`金额：${amount}`, `退至：${paidWith}`, `时间：${at}`, `交易编号：${number}`].join('\n'),
      '所有交易及收据请见：',
      link,
    ],
  },
  ja: {
    subject: ({ brand, amount, outcome }) =>
      outcome === 'given_back'
        ? `${brand} からの返金 ${amount}`
        : `${brand} からの返金 ${amount} が届きませんでした`,
    body: ({ brand, amount, paidWith, at, number, link, outcome }) => [
      'こんにちは。',
      outcome === 'given_back'
        ? `${brand} アカウントへのお支払いのうち ${amount} が返金されました。残高から差し引き、使用済みの分は未払いとして次のチャージから充当します。`
        : `返金した ${amount} が届かず、当方に戻りました。未払い分に充てた残りを ${brand} アカウントの残高に戻しました。`,
      [`金額: ${amount}`, `返金先: ${paidWith}`, `日時: ${at}`, `取引番号: ${number}`].join('\n'),
      'すべての取引と領収の明細はこちらでご覧いただけます。',
      link,
    ],
  },
  ko: {
    subject: ({ brand, amount, outcome }) =>
      outcome === 'given_back' ? `${brand} 환불 ${amount}` : `${brand} 환불 ${amount} 실패`,
    body: ({ brand, amount, paidWith, at, number, link, outcome }) => [
      '안녕하세요.',
      outcome === 'given_back'
        ? `${brand} 계정으로 결제한 금액 중 ${amount}가 환불되어 잔액에서 빠졌습니다. 이미 사용한 금액은 미납으로 남으며 다음 충전액에서 먼저 갚습니다.`
        : `환불한 ${amount}가 전달되지 않아 저희에게 돌아왔습니다. 그중 미납액을 갚고 남은 금액은 ${brand} 계정의 잔액으로 되돌렸습니다.`,
      [`금액: ${amount}`, `환불처: ${paidWith}`, `시각: ${at}`, `거래 번호: ${number}`].join('\n'),
      '모든 거래와 영수증은 여기에서 볼 수 있습니다.',
      link,
    ],
  },
}
