import type { Language } from '@berth/contract/limits'
import type { VolumeFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  news: VolumeFacts['news']
  name: string
  /** When it is deleted; empty where it is not. */
  until: string
}

type Said = Record<VolumeFacts['news'], { subject: string; meaning: (until: string) => string }>

/** What happened, and what becomes of the volume. */
const NEWS: Record<Language, Said> = {
  en: {
    unpaid: {
      subject: 'is not paid for',
      meaning: until =>
        `The balance is used up, so nobody pays for this volume. Nothing is deleted now: it is kept, and instances that start have it read-only. Unless you top up, it is deleted with all that is in it on ${until}; while an instance has it, when that instance is gone.`,
    },
    unpaid_soon: {
      subject: 'will be deleted soon',
      meaning: until =>
        `The balance is still used up. Unless you top up, this volume is deleted with all that is in it on ${until}; while an instance has it, when that instance is gone.`,
    },
    deleted_unpaid: {
      subject: 'was deleted',
      meaning: () => 'It was not paid for until its date came, and was deleted with all that was in it.',
    },
    make_failed: {
      subject: 'could not be made',
      meaning: () => 'It costs nothing. Delete it and create another one.',
    },
    grow_failed: {
      subject: 'could not grow',
      meaning: () => 'It has the size and the price that it had before, and all that is in it.',
    },
    missing: {
      subject: 'cannot be found',
      meaning: () =>
        'What keeps it does not have it any more. It costs nothing from when it was last seen. If it is found again, you see it on its page.',
    },
  },
  zh: {
    unpaid: {
      subject: '已欠费',
      meaning: until =>
        `余额已用完，该网络卷无人付费。目前不会删除任何内容：网络卷会保留，之后启动的实例只能读取它。若不充值，它及其全部内容将于 ${until} 删除；如有实例挂载它，则在该实例销毁后删除。`,
    },
    unpaid_soon: {
      subject: '即将删除',
      meaning: until =>
        `余额仍为零。若不充值，该网络卷及其全部内容将于 ${until} 删除；如有实例挂载它，则在该实例销毁后删除。`,
    },
    deleted_unpaid: { subject: '已删除', meaning: () => '到期前未付费，该网络卷及其全部内容已删除。' },
    make_failed: { subject: '无法创建', meaning: () => '不会产生费用。请删除后重新创建。' },
    grow_failed: { subject: '无法扩容', meaning: () => '容量、价格及全部内容均与之前相同。' },
    missing: {
      subject: '无法找到',
      meaning: () =>
        '保存它的引擎中已没有该网络卷。自最后一次看到它起不再计费。若重新找到，会显示在其页面上。',
    },
  },
  ja: {
    unpaid: {
      subject: 'の料金が支払われていません',
      meaning: until =>
        `残高がなくなり、このボリュームの料金が支払われていません。今は何も削除されません。ボリュームは保持され、これから起動するインスタンスでは読み取り専用になります。チャージがない場合、${until} に内容ごと削除されます。インスタンスが使用している間は、そのインスタンスがなくなったときに削除されます。`,
    },
    unpaid_soon: {
      subject: 'はまもなく削除されます',
      meaning: until =>
        `残高はまだありません。チャージがない場合、このボリュームは ${until} に内容ごと削除されます。インスタンスが使用している間は、そのインスタンスがなくなったときに削除されます。`,
    },
    deleted_unpaid: {
      subject: 'を削除しました',
      meaning: () => '期日までに支払いがなかったため、内容ごと削除しました。',
    },
    make_failed: {
      subject: 'を作成できませんでした',
      meaning: () => '料金はかかりません。削除してから、もう一度作成してください。',
    },
    grow_failed: {
      subject: 'を拡張できませんでした',
      meaning: () => 'サイズ、料金、内容は以前のままです。',
    },
    missing: {
      subject: 'が見つかりません',
      meaning: () =>
        '保存先のエンジンにこのボリュームがありません。最後に確認できた時点から料金はかかりません。再び見つかれば、そのページに表示されます。',
    },
  },
  ko: {
    unpaid: {
      subject: '요금 미납',
      meaning: until =>
        `잔액이 모두 사용되어 이 볼륨의 요금이 지불되지 않습니다. 지금은 아무것도 삭제하지 않습니다. 볼륨은 유지되며 앞으로 시작하는 인스턴스에서는 읽기만 할 수 있습니다. 충전하지 않으면 ${until}에 모든 내용과 함께 삭제됩니다. 인스턴스가 사용하는 동안에는 그 인스턴스가 없어질 때 삭제됩니다.`,
    },
    unpaid_soon: {
      subject: '곧 삭제됨',
      meaning: until =>
        `아직 잔액이 없습니다. 충전하지 않으면 이 볼륨은 ${until}에 모든 내용과 함께 삭제됩니다. 인스턴스가 사용하는 동안에는 그 인스턴스가 없어질 때 삭제됩니다.`,
    },
    deleted_unpaid: {
      subject: '삭제됨',
      meaning: () => '기한까지 요금이 지불되지 않아 모든 내용과 함께 삭제했습니다.',
    },
    make_failed: {
      subject: '만들지 못함',
      meaning: () => '요금은 부과되지 않습니다. 삭제한 뒤 다시 만들어 주세요.',
    },
    grow_failed: {
      subject: '늘리지 못함',
      meaning: () => '크기와 요금, 모든 내용은 이전과 같습니다.',
    },
    missing: {
      subject: '찾을 수 없음',
      meaning: () =>
        '볼륨을 보관하던 엔진에 더 이상 없습니다. 마지막으로 확인된 때부터 요금이 부과되지 않습니다. 다시 발견되면 해당 페이지에 표시됩니다.',
    },
  },
}

/** The mail about a network volume that is not paid for (B4), or that is not as its customer asked. */
export const VOLUME_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, news, name }) => `${brand}: network volume ${name} ${NEWS.en[news].subject}`,
    body: ({ news, name, at, until, link }) => [
      'Hello,',
      `This is about your network volume “${name}” (${at}).`,
      NEWS.en[news].meaning(until),
      link,
    ],
  },
  zh: {
    subject: ({ brand, news, name }) => `${brand}：网络卷 ${name} ${NEWS.zh[news].subject}`,
    body: ({ news, name, at, until, link }) => [
      '您好！',
      `此邮件与您的网络卷“${name}”有关（${at}）。`,
      NEWS.zh[news].meaning(until),
      link,
    ],
  },
  ja: {
    subject: ({ brand, news, name }) => `${brand}: ネットワークボリューム ${name} ${NEWS.ja[news].subject}`,
    body: ({ news, name, at, until, link }) => [
      'こんにちは。',
      `ネットワークボリューム「${name}」についてのお知らせです（${at}）。`,
      NEWS.ja[news].meaning(until),
      link,
    ],
  },
  ko: {
    subject: ({ brand, news, name }) => `${brand}: 네트워크 볼륨 ${name} ${NEWS.ko[news].subject}`,
    body: ({ news, name, at, until, link }) => [
      '안녕하세요.',
      `네트워크 볼륨 “${name}”에 관한 안내입니다 (${at}).`,
      NEWS.ko[news].meaning(until),
      link,
    ],
  },
}
