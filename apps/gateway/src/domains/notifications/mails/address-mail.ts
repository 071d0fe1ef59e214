import type { Language } from '@berth/contract/limits'
import type { AddressFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  news: AddressFacts['news']
  address: string
  /** Of the instance that has it. */
  name: string
  /** When it is given back, or was. */
  until: string
}

type What = Record<Values['news'], { subject: string; meaning(until: string): string }>

const EN_AHEAD = (until: string) =>
  `The balance is used up, and nothing is left to pay for it. Unless money comes, it is given back on ${until}, and others may get it. Top up to keep it.`
const ZH_AHEAD = (until: string) =>
  `余额已用尽，无法支付其费用。如未充值，该地址将于 ${until} 收回，并可能分配给他人。如需保留，请充值。`
const JA_AHEAD = (until: string) =>
  `残高がなくなり、料金をお支払いいただけない状態です。入金がなければ ${until} に返却され、ほかの方が使うことになります。残すにはチャージしてください。`
const KO_AHEAD = (until: string) =>
  `잔액이 소진되어 요금을 낼 수 없습니다. 입금되지 않으면 ${until}에 반납되며 다른 사람이 사용할 수 있습니다. 유지하려면 충전해 주세요.`

/** What is to happen or has. */
const WHAT: Record<Language, What> = {
  en: {
    unpaid: { subject: 'nothing is left to pay for it', meaning: EN_AHEAD },
    unpaid_soon: { subject: 'will be given back', meaning: EN_AHEAD },
    given_back_unpaid: {
      subject: 'was given back',
      meaning: until =>
        `Nothing was left to pay for it, as our mails before said. It was given back on ${until} and costs nothing from then on. Its instance is as it was, and can be given another address.`,
    },
  },
  zh: {
    unpaid: { subject: '余额不足以支付', meaning: ZH_AHEAD },
    unpaid_soon: { subject: '即将收回', meaning: ZH_AHEAD },
    given_back_unpaid: {
      subject: '已收回',
      meaning: until =>
        `其费用无法支付，此前我们已发送邮件通知。该地址已于 ${until} 收回，此后不再计费。实例保持原样，可以再绑定其他地址。`,
    },
  },
  ja: {
    unpaid: { subject: 'の料金を支払う残高がありません', meaning: JA_AHEAD },
    unpaid_soon: { subject: 'は返却されます', meaning: JA_AHEAD },
    given_back_unpaid: {
      subject: 'は返却されました',
      meaning: until =>
        `料金をお支払いいただけなかったため、事前にメールでお知らせしたとおり、${until} に返却されました。以後、料金はかかりません。インスタンスはそのままで、別のアドレスを割り当てられます。`,
    },
  },
  ko: {
    unpaid: { subject: '요금을 낼 잔액이 없음', meaning: KO_AHEAD },
    unpaid_soon: { subject: '반납 예정', meaning: KO_AHEAD },
    given_back_unpaid: {
      subject: '반납됨',
      meaning: until =>
        `요금을 낼 수 없어, 앞서 메일로 알려 드린 대로 ${until}에 반납되었습니다. 그 이후로는 요금이 부과되지 않습니다. 인스턴스는 그대로이며 다른 주소를 할당할 수 있습니다.`,
    },
  },
}

/** The mail about an address that nothing is left to pay for (B4). */
export const ADDRESS_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, news, address }) => `${brand}: ${address} ${WHAT.en[news].subject}`,
    body: ({ news, address, name, until, link }) => [
      'Hello,',
      `This is about the public IP ${address} of your instance “${name}”.`,
      WHAT.en[news].meaning(until),
      link,
    ],
  },
  zh: {
    subject: ({ brand, news, address }) => `${brand}：${address} ${WHAT.zh[news].subject}`,
    body: ({ news, address, name, until, link }) => [
      '您好！',
      `此邮件与您的实例“${name}”的公网 IP ${address} 有关。`,
      WHAT.zh[news].meaning(until),
      link,
    ],
  },
  ja: {
    subject: ({ brand, news, address }) => `${brand}: ${address} ${WHAT.ja[news].subject}`,
    body: ({ news, address, name, until, link }) => [
      'こんにちは。',
      `インスタンス「${name}」のパブリック IP ${address} についてのお知らせです。`,
      WHAT.ja[news].meaning(until),
      link,
    ],
  },
  ko: {
    subject: ({ brand, news, address }) => `${brand}: ${address} ${WHAT.ko[news].subject}`,
    body: ({ news, address, name, until, link }) => [
      '안녕하세요.',
      `인스턴스 “${name}”의 공인 IP ${address}에 관한 안내입니다.`,
      WHAT.ko[news].meaning(until),
      link,
    ],
  },
}
