import type { Language } from '@berth/contract/limits'
import type { TermOutcome } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  name: string
  outcome: TermOutcome
  /** The end of the term; of a renewal, of the new one. */
  until: string
  /** What a term costs, with its currency's sign; empty where none is offered any more. */
  price: string
}

type What = Record<TermOutcome, { subject: string; meaning(values: Values): string }>

/** What becomes of the instance, and what its customer may do. */
const WHAT: Record<Language, What> = {
  en: {
    will_renew: {
      subject: 'will be renewed',
      meaning: ({ until, price }) =>
        `Its term ends on ${until}. It is renewed then, and ${price} is taken from your balance. If you do not want that, cancel the renewal before.`,
    },
    will_stop: {
      subject: 'cannot be renewed as it looks now',
      meaning: ({ until, price }) =>
        price === ''
          ? `Its term ends on ${until}. It cannot be renewed, because it is no longer offered. It is then stopped and keeps its data, and its disk costs its fee by the hour.`
          : `Its term ends on ${until}. It is to be renewed then for ${price}, and cannot be: the balance, its spend limit or its state keeps it from that. Top up and look at its page. Otherwise it is stopped then and keeps its data, and its disk costs its fee by the hour.`,
    },
    will_release: {
      subject: 'will be released',
      meaning: ({ until }) =>
        `Its term ends on ${until}, and its renewal is cancelled: the instance and all that it stored are deleted then. To keep it, turn the renewal on or renew it before.`,
    },
    renewed: {
      subject: 'was renewed',
      meaning: ({ until, price }) =>
        `It was renewed until ${until}, and ${price} was taken from your balance.`,
    },
    unpaid: {
      subject: 'was stopped: its term is over and could not be renewed',
      meaning: () =>
        'Its term is over and could not be renewed. It is stopped and on demand now: what it stored is kept, and its disk costs its fee by the hour. Start it again on demand, and switch it to a term then, if you want.',
    },
    released: {
      subject: 'was released: its term is over',
      meaning: () => 'Its term is over and its renewal was cancelled, so it was deleted with what it stored.',
    },
  },
  zh: {
    will_renew: {
      subject: '即将续费',
      meaning: ({ until, price }) =>
        `当前周期将于 ${until} 结束，届时自动续费，并从余额中扣除 ${price}。如不需要续费，请在此之前取消。`,
    },
    will_stop: {
      subject: '目前无法续费',
      meaning: ({ until, price }) =>
        price === ''
          ? `当前周期将于 ${until} 结束。由于该规格不再提供，届时无法续费。实例将停止并保留数据，磁盘按小时计费。`
          : `当前周期将于 ${until} 结束，届时应以 ${price} 续费，但余额、支出上限或实例状态不允许。请充值并查看实例页面；否则实例届时将停止并保留数据，磁盘按小时计费。`,
    },
    will_release: {
      subject: '即将释放',
      meaning: ({ until }) =>
        `当前周期将于 ${until} 结束，且已取消续费：届时实例及其存储的所有数据将被删除。如需保留，请在此之前开启自动续费或手动续费。`,
    },
    renewed: {
      subject: '已续费',
      meaning: ({ until, price }) => `实例已续费至 ${until}，并从余额中扣除 ${price}。`,
    },
    unpaid: {
      subject: '因周期结束且无法续费已停止',
      meaning: () =>
        '实例的周期已结束且无法续费。实例现已停止并转为按需计费：存储的数据仍然保留，磁盘按小时计费。您可以按需重新启动，之后也可以再次转为订阅。',
    },
    released: {
      subject: '周期结束，已释放',
      meaning: () => '实例的周期已结束且续费已取消，因此实例及其存储的数据已被删除。',
    },
  },
  ja: {
    will_renew: {
      subject: 'は更新されます',
      meaning: ({ until, price }) =>
        `現在の期間は ${until} に終わります。そのときに自動で更新され、残高から ${price} が引き落とされます。更新しない場合は、それまでに更新を取り消してください。`,
    },
    will_stop: {
      subject: 'は現状では更新できません',
      meaning: ({ until, price }) =>
        price === ''
          ? `現在の期間は ${until} に終わります。提供が終了したため更新できません。インスタンスは停止し、データは保持され、ディスクには時間単位の料金がかかります。`
          : `現在の期間は ${until} に終わり、${price} で更新される予定ですが、残高、支出上限、または状態により更新できません。チャージして、インスタンスのページをご確認ください。更新できない場合、インスタンスは停止し、データは保持され、ディスクには時間単位の料金がかかります。`,
    },
    will_release: {
      subject: 'は解放されます',
      meaning: ({ until }) =>
        `現在の期間は ${until} に終わり、更新は取り消されています。そのときにインスタンスと保存されたすべてのデータが削除されます。残すには、それまでに自動更新をオンにするか、更新してください。`,
    },
    renewed: {
      subject: 'を更新しました',
      meaning: ({ until, price }) => `${until} まで更新し、残高から ${price} を引き落としました。`,
    },
    unpaid: {
      subject: 'は期間が終わり、更新できなかったため停止しました',
      meaning: () =>
        '期間が終わり、更新できませんでした。現在は停止し、オンデマンドに切り替わっています。保存されたデータは残っており、ディスクには時間単位の料金がかかります。オンデマンドで再び起動でき、その後で期間契約に切り替えることもできます。',
    },
    released: {
      subject: 'は期間が終わり、解放されました',
      meaning: () => '期間が終わり、更新が取り消されていたため、保存されたデータとともに削除されました。',
    },
  },
  ko: {
    will_renew: {
      subject: '갱신 예정',
      meaning: ({ until, price }) =>
        `현재 이용 기간은 ${until}에 끝납니다. 그때 자동으로 갱신되며, 잔액에서 차감되는 금액은 ${price}입니다. 원하지 않으시면 그 전에 갱신을 취소해 주세요.`,
    },
    will_stop: {
      subject: '현재 상태로는 갱신할 수 없음',
      meaning: ({ until, price }) =>
        price === ''
          ? `현재 이용 기간은 ${until}에 끝납니다. 더 이상 제공되지 않아 갱신할 수 없습니다. 인스턴스는 중지되고 데이터는 유지되며, 디스크 요금은 시간 단위로 부과됩니다.`
          : `현재 이용 기간은 ${until}에 끝나며 ${price}에 갱신될 예정이지만, 잔액, 지출 한도 또는 상태 때문에 갱신할 수 없습니다. 충전한 뒤 인스턴스 페이지를 확인해 주세요. 그러지 않으면 인스턴스는 중지되고 데이터는 유지되며, 디스크 요금은 시간 단위로 부과됩니다.`,
    },
    will_release: {
      subject: '해제 예정',
      meaning: ({ until }) =>
        `현재 이용 기간은 ${until}에 끝나며 갱신이 취소되었습니다. 그때 인스턴스와 저장된 모든 데이터가 삭제됩니다. 유지하려면 그 전에 자동 갱신을 켜거나 갱신해 주세요.`,
    },
    renewed: {
      subject: '갱신됨',
      meaning: ({ until, price }) => `${until}까지 갱신되었습니다. 잔액에서 차감된 금액은 ${price}입니다.`,
    },
    unpaid: {
      subject: '이용 기간이 끝나 갱신하지 못해 중지됨',
      meaning: () =>
        '이용 기간이 끝났고 갱신하지 못했습니다. 인스턴스는 중지되어 온디맨드로 전환되었습니다. 저장된 데이터는 유지되며 디스크 요금은 시간 단위로 부과됩니다. 온디맨드로 다시 시작한 뒤 원하시면 기간 요금제로 전환해 주세요.',
    },
    released: {
      subject: '이용 기간이 끝나 해제됨',
      meaning: () => '이용 기간이 끝났고 갱신이 취소되어 있어, 저장된 데이터와 함께 삭제되었습니다.',
    },
  },
}

/** The mail about an instance that is paid for in advance, before its term ends and when it has. */
export const TERM_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, outcome, name }) => `${brand}: ${name} ${WHAT.en[outcome].subject}`,
    body: values => [
      'Hello,',
      `This is about your instance: ${values.name}.`,
      WHAT.en[values.outcome].meaning(values),
      values.link,
    ],
  },
  zh: {
    subject: ({ brand, outcome, name }) => `${brand}：${name} ${WHAT.zh[outcome].subject}`,
    body: values => [
      '您好！',
      `此邮件与您的实例有关：${values.name}。`,
      WHAT.zh[values.outcome].meaning(values),
      values.link,
    ],
  },
  ja: {
    subject: ({ brand, outcome, name }) => `${brand}: ${name} ${WHAT.ja[outcome].subject}`,
    body: values => [
      'こんにちは。',
      `お客様のインスタンスについてのお知らせです: ${values.name}`,
      WHAT.ja[values.outcome].meaning(values),
      values.link,
    ],
  },
  ko: {
    subject: ({ brand, outcome, name }) => `${brand}: ${name} ${WHAT.ko[outcome].subject}`,
    body: values => [
      '안녕하세요.',
      `고객님의 인스턴스에 관한 안내입니다: ${values.name}`,
      WHAT.ko[values.outcome].meaning(values),
      values.link,
    ],
  },
}
