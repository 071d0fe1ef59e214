import type { Language } from '@berth/contract/limits'
import type { TroubleCause } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  cause: TroubleCause
  /** Of the instances, parted by commas. */
  names: string
}

/** What happened, and what it means for money and data. */
const WHAT: Record<Language, Record<TroubleCause, { subject: string; meaning: string }>> = {
  en: {
    error: { subject: 'failed', meaning: 'It failed, and costs nothing since then. Its page says why.' },
    exited: {
      subject: 'has ended',
      meaning: 'Its own program ended. It no longer computes, and what it stored is kept.',
    },
    balance_used_up: {
      subject: 'was stopped: the balance is used up',
      meaning:
        'It was stopped because the balance is used up. Nothing was deleted: top up, then start it again.',
    },
    budget_reached: {
      subject: 'was stopped: a budget is used up',
      meaning:
        'It was stopped because a budget that you set is used up. Nothing was deleted, and its disk goes on costing its fee: raise the budget or remove it, or start it again in the next day or month that the budget counts.',
    },
    stopped_by_operator: {
      subject: 'was stopped by the operator',
      meaning:
        'It was stopped by the operator of this service, because its region is being emptied or its account is suspended. Nothing was deleted, and its disk goes on costing its fee.',
    },
    moved_by_operator: {
      subject: 'is moved to another computer',
      meaning:
        'The computer that it ran on is taken out of service, so the operator of this service has it started again on another one, with its disk. What ran in it was ended; what it stored is kept. From its end until it starts again it costs nothing.',
    },
    spend_limit_reached: {
      subject: 'was stopped: it has reached its spend limit',
      meaning:
        'It was stopped because it has cost what you allowed it to cost. Nothing was deleted, and its disk goes on costing its fee: raise the limit or remove it, then start it again.',
    },
  },
  zh: {
    error: { subject: '发生故障', meaning: '实例发生故障，此后不再计费。原因请见其页面。' },
    exited: { subject: '已退出', meaning: '实例自身的程序已结束。实例已停止运行，其存储的数据仍然保留。' },
    balance_used_up: {
      subject: '因余额用尽已停止',
      meaning: '因余额用尽，实例已停止。没有任何数据被删除：充值后即可重新启动。',
    },
    budget_reached: {
      subject: '因预算用尽已停止',
      meaning:
        '您设置的预算已用尽，因此实例已停止。没有任何数据被删除，磁盘仍继续计费：提高或移除预算，或在预算的下一个周期（日或月）重新启动。',
    },
    stopped_by_operator: {
      subject: '已由运营方停止',
      meaning:
        '由于所在区域正在清空或账户已被暂停，本服务的运营方停止了实例。没有任何数据被删除，磁盘仍继续计费。',
    },
    moved_by_operator: {
      subject: '正在迁移到另一台计算机',
      meaning:
        '它所在的计算机即将停用，因此本服务的运营方让它连同磁盘在另一台计算机上重新启动。其中运行的程序已结束，存储的数据仍然保留。从结束到重新启动期间不计费。',
    },
    spend_limit_reached: {
      subject: '因达到支出上限已停止',
      meaning:
        '实例的费用已达到您设置的上限，因此已停止。没有任何数据被删除，磁盘仍继续计费：提高或取消上限后即可重新启动。',
    },
  },
  ja: {
    error: {
      subject: 'で障害が発生しました',
      meaning: '障害が発生しました。それ以降、料金はかかりません。原因はそのページに表示されます。',
    },
    exited: {
      subject: 'が終了しました',
      meaning: 'プログラムが自ら終了しました。計算は行われていませんが、保存されたデータは残っています。',
    },
    balance_used_up: {
      subject: 'は残高不足のため停止しました',
      meaning: '残高がなくなったため停止しました。何も削除されていません。チャージすると、再び起動できます。',
    },
    budget_reached: {
      subject: 'は予算を使い切ったため停止しました',
      meaning:
        '設定された予算を使い切ったため停止しました。何も削除されておらず、ディスクの料金は引き続きかかります。予算を引き上げるか削除するか、予算の次の期間（日または月）に再び起動してください。',
    },
    stopped_by_operator: {
      subject: 'は運営者によって停止されました',
      meaning:
        'リージョンの退避またはアカウントの停止のため、サービスの運営者が停止しました。何も削除されておらず、ディスクの料金は引き続きかかります。',
    },
    moved_by_operator: {
      subject: 'は別のコンピューターへ移動されます',
      meaning:
        '実行していたコンピューターが運用から外されるため、サービスの運営者がディスクごと別のコンピューターで再び起動します。実行中だったプログラムは終了しましたが、保存されたデータは残っています。終了してから再び起動するまで、料金はかかりません。',
    },
    spend_limit_reached: {
      subject: 'は支出上限に達したため停止しました',
      meaning:
        '料金が設定された上限に達したため停止しました。何も削除されておらず、ディスクの料金は引き続きかかります。上限を引き上げるか解除すると、再び起動できます。',
    },
  },
  ko: {
    error: {
      subject: '오류 발생',
      meaning: '오류가 발생했으며, 그 이후로는 요금이 부과되지 않습니다. 원인은 해당 페이지에 표시됩니다.',
    },
    exited: {
      subject: '종료됨',
      meaning: '자체 프로그램이 끝났습니다. 더 이상 실행되지 않지만 저장된 데이터는 유지됩니다.',
    },
    balance_used_up: {
      subject: '잔액 소진으로 중지됨',
      meaning: '잔액이 소진되어 중지되었습니다. 삭제된 것은 없습니다. 충전한 뒤 다시 시작해 주세요.',
    },
    budget_reached: {
      subject: '예산을 모두 사용하여 중지됨',
      meaning:
        '설정하신 예산을 모두 사용하여 중지되었습니다. 삭제된 것은 없으며 디스크 요금은 계속 부과됩니다. 예산을 올리거나 제거하거나, 예산의 다음 기간(일 또는 월)에 다시 시작해 주세요.',
    },
    stopped_by_operator: {
      subject: '이(가) 운영자에 의해 중지되었습니다',
      meaning:
        '리전을 비우는 중이거나 계정이 정지되어 서비스 운영자가 중지했습니다. 삭제된 것은 없으며 디스크 요금은 계속 부과됩니다.',
    },
    moved_by_operator: {
      subject: '이(가) 다른 컴퓨터로 옮겨집니다',
      meaning:
        '실행 중이던 컴퓨터가 운영에서 제외되어, 서비스 운영자가 디스크와 함께 다른 컴퓨터에서 다시 시작합니다. 실행 중이던 프로그램은 종료되었고 저장된 데이터는 유지됩니다. 종료된 뒤 다시 시작할 때까지는 요금이 부과되지 않습니다.',
    },
    spend_limit_reached: {
      subject: '지출 한도에 도달하여 중지됨',
      meaning:
        '요금이 설정하신 한도에 도달하여 중지되었습니다. 삭제된 것은 없으며 디스크 요금은 계속 부과됩니다. 한도를 올리거나 해제한 뒤 다시 시작해 주세요.',
    },
  },
}

/** The mail about instances that do not run though their customer wanted them to. */
export const INSTANCE_TROUBLE_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, cause, names }) => `${brand}: ${names} ${WHAT.en[cause].subject}`,
    body: ({ cause, names, at, link }) => [
      'Hello,',
      `This is about your instance: ${names} (${at}).`,
      WHAT.en[cause].meaning,
      link,
    ],
  },
  zh: {
    subject: ({ brand, cause, names }) => `${brand}：${names} ${WHAT.zh[cause].subject}`,
    body: ({ cause, names, at, link }) => [
      '您好！',
      `此邮件与您的实例有关：${names}（${at}）。`,
      WHAT.zh[cause].meaning,
      link,
    ],
  },
  ja: {
    subject: ({ brand, cause, names }) => `${brand}: ${names} ${WHAT.ja[cause].subject}`,
    body: ({ cause, names, at, link }) => [
      'こんにちは。',
      `お客様のインスタンスについてのお知らせです: ${names}（${at}）`,
      WHAT.ja[cause].meaning,
      link,
    ],
  },
  ko: {
    subject: ({ brand, cause, names }) => `${brand}: ${names} ${WHAT.ko[cause].subject}`,
    body: ({ cause, names, at, link }) => [
      '안녕하세요.',
      `고객님의 인스턴스에 관한 안내입니다: ${names} (${at})`,
      WHAT.ko[cause].meaning,
      link,
    ],
  },
}
