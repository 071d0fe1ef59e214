import type { Language } from '@berth/contract/limits'
import type { DeletionFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  name: string
  outcome: DeletionFacts['outcome']
  /** Since when it is stopped. */
  since: string
  /** When it is deleted, or was. */
  until: string
  /** For how many days a stopped one is kept. */
  days: number
}

type What = Record<Values['outcome'], { subject: string; meaning(values: Values): string }>

/** What is to happen or has, and what its customer may do. */
const WHAT: Record<Language, What> = {
  en: {
    will_delete: {
      subject: 'will be deleted',
      meaning: ({ since, until, days }) =>
        `It has been stopped since ${since}. Stopped instances are kept for ${days} days: on ${until} this one is deleted with everything on its disks. To keep it, start it before then, and the ${days} days begin anew; you may stop it again at once. If you no longer need it, terminate it now, and its disk costs nothing more.`,
    },
    will_delete_unpaid: {
      subject: 'will be deleted: nothing is left to pay for it',
      meaning: ({ since, until }) =>
        `The balance is used up, and nothing is left to pay for its disks; it has been stopped since ${since}. Unless money comes, it is deleted on ${until} with everything on its disks. Top up to keep it. If you no longer need it, terminate it now.`,
    },
    deleted_unpaid: {
      subject: 'was deleted: nothing was left to pay for it',
      meaning: ({ until, days }) =>
        `Nothing was left to pay for its disks for ${days} days, as our mails before said. It was deleted on ${until} with everything on its disks, and costs nothing from then on. What it has cost stays in your transactions.`,
    },
    deleted: {
      subject: 'was deleted',
      meaning: ({ since, until, days }) =>
        `It had been stopped since ${since}, for more than ${days} days, as our mails before said. It was deleted on ${until} with everything on its disks, and costs nothing from then on. What it has cost stays in your transactions.`,
    },
  },
  zh: {
    will_delete: {
      subject: '即将被删除',
      meaning: ({ since, until, days }) =>
        `该实例自 ${since} 起处于停止状态。已停止的实例保留 ${days} 天：它将于 ${until} 连同磁盘上的全部数据一并删除。如需保留，请在此之前启动它，${days} 天将重新计算；启动后可以立即再次停止。如果不再需要，请现在销毁它，磁盘便不再计费。`,
    },
    will_delete_unpaid: {
      subject: '即将被删除：余额不足以支付',
      meaning: ({ since, until }) =>
        `余额已用尽，无法支付其磁盘费用；该实例自 ${since} 起处于停止状态。如未充值，它将于 ${until} 连同磁盘上的全部数据一并删除。如需保留，请充值；如果不再需要，请现在销毁它。`,
    },
    deleted_unpaid: {
      subject: '已被删除：余额不足以支付',
      meaning: ({ until, days }) =>
        `其磁盘费用已有 ${days} 天无法支付，此前我们已发送邮件通知。它已于 ${until} 连同磁盘上的全部数据一并删除，此后不再计费。它产生的费用仍可在交易记录中查看。`,
    },
    deleted: {
      subject: '已被删除',
      meaning: ({ since, until, days }) =>
        `该实例自 ${since} 起处于停止状态，已超过 ${days} 天，此前我们已发送邮件通知。它已于 ${until} 连同磁盘上的全部数据一并删除，此后不再计费。它产生的费用仍可在交易记录中查看。`,
    },
  },
  ja: {
    will_delete: {
      subject: 'は削除されます',
      meaning: ({ since, until, days }) =>
        `${since} から停止しています。停止中のインスタンスが保持されるのは ${days} 日間で、${until} にディスク上のすべてのデータとともに削除されます。残すには、それまでに起動してください。${days} 日は数え直しになり、すぐに停止してもかまいません。不要であれば、いま削除するとディスクの料金もかからなくなります。`,
    },
    will_delete_unpaid: {
      subject: 'は削除されます: 残高がありません',
      meaning: ({ since, until }) =>
        `残高がなくなり、ディスクの料金をお支払いいただけない状態です。${since} から停止しています。入金がなければ、${until} にディスク上のすべてのデータとともに削除されます。残すにはチャージしてください。不要であれば、いま削除してください。`,
    },
    deleted_unpaid: {
      subject: 'は削除されました: 残高がありませんでした',
      meaning: ({ until, days }) =>
        `${days} 日間ディスクの料金をお支払いいただけなかったため、事前にメールでお知らせしたとおり、${until} にディスク上のすべてのデータとともに削除されました。以後、料金はかかりません。これまでの料金は取引履歴で確認できます。`,
    },
    deleted: {
      subject: 'は削除されました',
      meaning: ({ since, until, days }) =>
        `${since} から ${days} 日を超えて停止していたため、事前にメールでお知らせしたとおり、${until} にディスク上のすべてのデータとともに削除されました。以後、料金はかかりません。これまでの料金は取引履歴で確認できます。`,
    },
  },
  ko: {
    will_delete: {
      subject: '삭제 예정',
      meaning: ({ since, until, days }) =>
        `${since}부터 중지되어 있습니다. 중지된 인스턴스는 ${days}일 동안 보관되며, 이 인스턴스는 ${until}에 디스크의 모든 데이터와 함께 삭제됩니다. 유지하려면 그 전에 시작해 주세요. ${days}일이 다시 계산되며, 시작한 뒤 바로 중지해도 됩니다. 더 이상 필요하지 않으면 지금 삭제해 주세요. 그러면 디스크 요금도 더는 부과되지 않습니다.`,
    },
    will_delete_unpaid: {
      subject: '삭제 예정: 잔액이 없음',
      meaning: ({ since, until }) =>
        `잔액이 소진되어 디스크 요금을 낼 수 없습니다. ${since}부터 중지되어 있습니다. 입금되지 않으면 ${until}에 디스크의 모든 데이터와 함께 삭제됩니다. 유지하려면 충전해 주세요. 더 이상 필요하지 않으면 지금 삭제해 주세요.`,
    },
    deleted_unpaid: {
      subject: '삭제됨: 잔액이 없었음',
      meaning: ({ until, days }) =>
        `${days}일 동안 디스크 요금을 낼 수 없어, 앞서 메일로 알려 드린 대로 ${until}에 디스크의 모든 데이터와 함께 삭제되었습니다. 그 이후로는 요금이 부과되지 않습니다. 지금까지의 요금은 거래 내역에 남아 있습니다.`,
    },
    deleted: {
      subject: '삭제됨',
      meaning: ({ since, until, days }) =>
        `${since}부터 ${days}일 넘게 중지되어 있어, 앞서 메일로 알려 드린 대로 ${until}에 디스크의 모든 데이터와 함께 삭제되었습니다. 그 이후로는 요금이 부과되지 않습니다. 지금까지의 요금은 거래 내역에 남아 있습니다.`,
    },
  },
}

/** The mail about a pod that stays stopped: before it is deleted, and when it was (R9.6). */
export const DELETION_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, outcome, name, until }) => `${brand}: ${name} ${WHAT.en[outcome].subject} (${until})`,
    body: values => [
      'Hello,',
      `This is about your instance: ${values.name}.`,
      WHAT.en[values.outcome].meaning(values),
      values.link,
    ],
  },
  zh: {
    subject: ({ brand, outcome, name, until }) => `${brand}：${name} ${WHAT.zh[outcome].subject}（${until}）`,
    body: values => [
      '您好！',
      `此邮件与您的实例有关：${values.name}。`,
      WHAT.zh[values.outcome].meaning(values),
      values.link,
    ],
  },
  ja: {
    subject: ({ brand, outcome, name, until }) => `${brand}: ${name} ${WHAT.ja[outcome].subject}（${until}）`,
    body: values => [
      'こんにちは。',
      `お客様のインスタンスについてのお知らせです: ${values.name}`,
      WHAT.ja[values.outcome].meaning(values),
      values.link,
    ],
  },
  ko: {
    subject: ({ brand, outcome, name, until }) => `${brand}: ${name} ${WHAT.ko[outcome].subject} (${until})`,
    body: values => [
      '안녕하세요.',
      `고객님의 인스턴스에 관한 안내입니다: ${values.name}`,
      WHAT.ko[values.outcome].meaning(values),
      values.link,
    ],
  },
}
