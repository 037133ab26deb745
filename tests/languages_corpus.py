"""What was learned, and a question about it in other forms of the same words, by language."""

from __future__ import annotations

from typing import Final

# A line for each: what was learned => what is asked.
_LINES: Final = {
    "german": """
Die Datenbankverbindungen wurden nach dem Neustart wiederhergestellt. => Wie stellt man Datenbankverbindung wieder her?
Der Server antwortet langsam, weil die Protokolle auf dieselbe Platte geschrieben werden. => Warum sind Antworten des Servers langsamer?
Alle Benutzer müssen ihre Passwörter bis Freitag ändern. => Muss ein Benutzer sein Passwort ändern?
Das Zertifikat lief ab, deshalb schlugen die Anmeldungen fehl. => Warum schlug die Anmeldung mit dem Zertifikat fehl?
Fehlende Indizes machten die Abfragen der Bestellungen zu langsam. => Welche Abfrage einer Bestellung war langsam?
Die Tests laufen nur mit gesetzter Zeitzone stabil. => Wann läuft ein Test stabiler in der Zeitzone?
Der Speicherverbrauch wuchs, bis die Arbeiter beendet wurden. => Wodurch wächst der Speicherverbrauch eines Arbeiters?
Übersetzungen werden erst nach dem Bauen der Pakete geladen. => Wann lädt man eine Übersetzung der Pakete?
Ein gelöschter Ordner ließ die Sicherungen scheitern. => Welche Sicherung scheiterte am gelöschten Ordner?
Die Schnittstelle verlangt seit gestern einen Schlüssel. => Welche Schnittstellen verlangen Schlüssel?
Veraltete Bibliotheken verursachten den Absturz beim Drucken. => Welche veraltete Bibliothek verursacht Abstürze?
Rechnungen dürfen nachträglich nicht verändert werden. => Darf eine Rechnung verändert werden?
Das Einspielen der Aktualisierung dauerte vierzig Minuten. => Wie lange dauert das Einspielen von Aktualisierungen?
Zwei Prozesse sperrten dieselbe Tabelle gegenseitig. => Welcher Prozess sperrte Tabellen?
Umlaute in Dateinamen zerstören das Archiv auf alten Systemen. => Was zerstört ein Archiv mit Umlauten im Dateinamen?
Die Warteschlange leert sich erst, wenn der Verteiler neu startet. => Leeren sich Warteschlangen erst nach dem Neustart des Verteilers?
Kunden sahen fremde Warenkörbe, weil der Zwischenspeicher geteilt war. => Weshalb sah ein Kunde einen fremden Warenkorb?
Bilder werden beim Hochladen auf zweitausend Punkte verkleinert. => Wie wird ein hochgeladenes Bild verkleinert?
Der nächtliche Abgleich überspringt gesperrte Konten. => Welches gesperrte Konto wird beim Abgleich übersprungen?
Mit dem neuen Treiber verschwanden die Verbindungsabbrüche. => Welcher Treiber beendete den Verbindungsabbruch?
Doppelte Einträge entstanden durch wiederholte Anfragen. => Wie entsteht ein doppelter Eintrag?
Die Suchmaschine indiziert keine leeren Seiten. => Indiziert eine Suchmaschine leere Seite?
Die Uhr des Testrechners ging drei Minuten nach. => Gehen Uhren der Testrechner nach?
Jede Mahnung muss vorher freigegeben werden. => Wer muss Mahnungen freigeben?
Gelöschte Nachrichten bleiben dreißig Tage im Papierkorb. => Wie lange bleibt eine gelöschte Nachricht im Papierkorb?
Der Wächter meldet volle Festplatten per Kurznachricht. => Meldet der Wächter eine volle Festplatte?
Zufällige Schlüssel verteilen die Last gleichmäßiger. => Womit verteilt man Lasten gleichmäßig?
Das Formular verwirft Eingaben mit führenden Leerzeichen. => Welche Eingabe verwirft ein Formular?
Nur Verwalter können Mandanten anlegen. => Kann ein Verwalter einen Mandanten anlegen?
Die Regelung der Heizung reagiert träge auf Sensoren. => Auf welchen Sensor reagiert die Heizung?
""",  # noqa: E501  # a pair in each line
    "korean": """
결제 모듈에서 예외를 처리하지 않아 주문이 사라졌다. => 주문이 사라진 예외
데이터베이스 연결이 끊기면 재시도를 세 번 한다. => 데이터베이스 연결 재시도
로그인 페이지는 쿠키가 없으면 무한히 이동한다. => 로그인 쿠키 무한 이동
auth.ts의 토큰 검증이 만료 시간을 무시했다. => auth.ts 토큰 만료
배포 전에 환경 변수를 설정해야 한다. => 배포할 때 환경 변수
메모리 누수는 닫히지 않은 스트림 때문이었다. => 스트림 메모리 누수 원인
캐시를 비우자 오래된 가격이 사라졌다. => 오래된 가격 캐시
테스트는 시간대를 서울로 고정하면 통과한다. => 테스트 시간대 서울
색인이 없어서 검색이 느려졌다. => 느린 검색 색인
사용자 이름에 공백이 있으면 가입이 실패한다. => 가입 실패 공백 이름
이미지 업로드는 십 메가바이트까지 허용된다. => 이미지 업로드 허용 크기
야간 백업이 디스크 부족으로 멈췄다. => 백업 디스크 부족
웹훅 서명을 확인하지 않으면 요청을 거절한다. => 웹훅 서명 확인
두 스레드가 같은 잠금을 기다리며 교착되었다. => 스레드 잠금 교착
라이브러리를 올리자 직렬화 오류가 생겼다. => 직렬화 오류 라이브러리
관리자만 프로젝트를 삭제할 수 있다. => 프로젝트 삭제 관리자
메일 발송은 큐를 거쳐 천천히 나간다. => 메일 발송 큐
인증서가 만료되어 접속이 거부되었다. => 인증서 만료 접속 거부
압축을 풀 때 한글 파일 이름이 깨진다. => 한글 파일 이름 압축
부동소수점으로 금액을 더하면 합계가 틀린다. => 금액 합계 부동소수점
서버 시계가 늦어서 토큰이 거부되었다. => 서버 시계 토큰
설정 파일의 들여쓰기가 잘못되어 시작하지 못했다. => 설정 파일 들여쓰기
중복 결제는 멱등 키로 막는다. => 멱등 키 중복 결제
로그에 비밀번호가 남지 않도록 가린다. => 로그 비밀번호 가리기
빌드는 노드 버전이 다르면 실패한다. => 노드 버전 빌드 실패
회의실 예약은 자정에 초기화된다. => 회의실 예약 초기화
번역 파일이 빠지면 영어로 보여 준다. => 번역 파일 누락 영어
검색어가 비어 있으면 최근 글을 보여 준다. => 빈 검색어 최근 글
알림은 한 시간에 한 번만 보낸다. => 알림 한 시간
도커 이미지를 줄이려면 다단계 빌드를 쓴다. => 도커 이미지 다단계
""",  # a pair in each line
    "chinese": """
数据库连接超时是因为连接池太小。 => 为什么数据库连接会超时
登录失败后要清除浏览器的缓存。 => 登录失败怎么清除缓存
部署之前必须先运行数据迁移。 => 部署前运行迁移
内存泄漏来自没有关闭的文件。 => 内存泄漏的原因
支付回调没有验证签名,订单被伪造。 => 支付回调验证签名
测试在时区设为上海时才通过。 => 测试时区上海
索引缺失让查询变慢了十倍。 => 查询变慢 索引
证书过期导致所有请求被拒绝。 => 证书过期 请求被拒绝
上传的图片会压缩到两千像素。 => 图片上传压缩
备份因为磁盘空间不足而停止。 => 磁盘空间不足 备份
两个线程互相等待锁,发生死锁。 => 线程死锁
升级依赖库之后序列化报错。 => 序列化报错 依赖库
只有管理员可以删除项目。 => 谁可以删除项目
邮件通过队列慢慢发送。 => 邮件发送队列
金额用浮点数相加会出现误差。 => 浮点数金额误差
配置文件缩进错误导致服务无法启动。 => 服务无法启动 配置文件
重复付款用幂等键来防止。 => 怎样防止重复付款
日志里不能出现用户的密码。 => 日志 密码
构建需要和服务器相同的节点版本。 => 构建节点版本
搜索词为空时显示最近的文章。 => 搜索词为空
翻译缺失时界面显示英文。 => 翻译缺失 界面
接口限制每分钟六十次调用。 => 接口调用限制
服务器时钟偏差使令牌失效。 => 令牌失效 时钟
用户名包含空格时注册失败。 => 注册失败 用户名空格
镜像太大,改用多阶段构建。 => 多阶段构建镜像
定时任务在夏令时切换时执行了两次。 => 定时任务执行两次
消息重复投递,消费者要去重。 => 消费者去重 消息
前端请求跨域被浏览器拦截。 => 跨域请求被拦截
压缩包里的中文文件名变成乱码。 => 中文文件名乱码
会议室预订在午夜重置。 => 会议室预订重置
""",  # a pair in each line
    "japanese": """
データベース接続がタイムアウトするのは接続数が少ないためだった。 => データベース接続のタイムアウト
ログインに失敗したらキャッシュを削除する。 => ログイン失敗 キャッシュ削除
デプロイの前に環境変数を設定しなければならない。 => 環境変数の設定 デプロイ
メモリリークは閉じていないファイルが原因だった。 => メモリリークの原因
決済の署名を検証しないと注文が偽造される。 => 決済署名の検証
テストはタイムゾーンを東京に固定すると成功する。 => テスト タイムゾーン東京
索引がないので検索が遅くなった。 => 検索が遅い 索引
証明書の期限が切れて接続が拒否された。 => 証明書の期限切れ
画像は二千ピクセルに縮小して保存する。 => 画像の縮小保存
バックアップは容量不足で止まった。 => 容量不足のバックアップ
二つのスレッドが互いに待って停止した。 => スレッドの停止
ライブラリを更新すると直列化に失敗した。 => 直列化の失敗 ライブラリ更新
管理者だけがプロジェクトを削除できる。 => プロジェクト削除 管理者
メールは待ち行列を通して送信される。 => メール送信 待ち行列
浮動小数点で金額を足すと誤差が出る。 => 金額の誤差 浮動小数点
設定ファイルの字下げが間違っていて起動できなかった。 => 設定ファイルの字下げ
二重の支払いは冪等キーで防ぐ。 => 二重支払いを防ぐ
記録にパスワードを残してはいけない。 => パスワードを記録に残さない
ビルドには同じバージョンの処理系が必要だ。 => ビルド 処理系バージョン
検索語が空なら最近の記事を表示する。 => 空の検索語 最近の記事
翻訳がないときは英語を表示する。 => 翻訳がない 英語
呼び出しは一分に六十回までに制限される。 => 呼び出し回数の制限
サーバーの時計がずれてトークンが無効になった。 => 時計のずれ トークン無効
利用者名に空白があると登録に失敗する。 => 登録失敗 利用者名の空白
夏時間の切り替えで定期処理が二度実行された。 => 定期処理が二度実行
通知は一時間に一度だけ送る。 => 通知 一時間に一度
圧縮すると日本語のファイル名が文字化けする。 => 日本語ファイル名の文字化け
会議室の予約は真夜中に初期化される。 => 会議室予約の初期化
古い価格はキャッシュを消すと直った。 => 古い価格 キャッシュ
要求が重複すると同じ行が二つできる。 => 要求の重複 同じ行
""",  # a pair in each line
}
PAIRS: Final = {
    language: [tuple(line.split(" => ", 1)) for line in lines.strip().splitlines()]
    for language, lines in _LINES.items()
}
